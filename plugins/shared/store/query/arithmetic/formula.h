// SPDX-License-Identifier: Apache-2.0
// Arithmetic between answers: "a / b * 100", where a is the answer of the first metric, b of the second.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::query {

// Numbers, the letters of `inputs`, + - * / and parentheses. Answers of two letters meet when all tags that both have are equal,
// and the result has the tags of both; points meet at equal times. A division by 0 gives no point. Throws Wrong.
std::vector<Answer> evaluate(std::string_view formula, const std::vector<std::vector<Answer>> &inputs, Budget &budget);

// The value of a formula that has no letters; nothing where it is none.
std::optional<double> constant_of(std::string_view formula);

}  // namespace atalaya::query
