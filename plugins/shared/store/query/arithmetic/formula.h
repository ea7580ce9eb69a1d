// SPDX-License-Identifier: Apache-2.0
// Arithmetic between answers: "a / b * 100", where a is the answer of the first metric, b of the second.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::query {

// Evaluates a formula of numbers, the letters of `inputs`, + - * / and parentheses. Combines answers of two letters if all tags
// that both have are equal, or those of the keys that they were grouped by; the result has the tags in which they do not
// differ. Combines points with equal times. A division by 0 has no point. Throws Wrong.
std::vector<Answer> evaluate(std::string_view formula, const std::vector<std::vector<Answer>> &inputs, Budget &budget,
                             const std::vector<std::string> *keys = nullptr);

// The value of a formula without letters; nothing if it has no value.
std::optional<double> constant_of(std::string_view formula);

}  // namespace atalaya::query
