// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/config/check/tests.h"
#include "core/config/check/validate.h"

namespace atalaya::core {

// Reads the test cases of the evaluated files; appends their errors to those of the validation.
std::vector<TestCase> check_tests(const Evaluation &evaluation, Validation &validation);

}  // namespace atalaya::core
