// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/config/check/tests.h"

namespace atalaya::core {

struct TestOutcome {
  std::vector<std::string> notes;    // failed calls of inline functions
  std::vector<std::string> missing;  // expected samples that the output lacks, one per line
  std::vector<std::string> unexpected;
  bool updated = false;  // the file of expected samples was rewritten
  bool passed() const { return missing.empty() && unexpected.empty(); }
};

// Processes a test case's samples in the stages of its pipeline and compares the output with the expected samples, in any order.
// With `update` the output replaces the file of expected samples.
Result<TestOutcome> run_test(const FileDescription &file, const TestCase &test, Symbols &symbols, bool update,
                             Launcher *launcher = nullptr);

}  // namespace atalaya::core
