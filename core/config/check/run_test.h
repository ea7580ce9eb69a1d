// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/config/check/tests.h"

namespace atalaya::core {

struct TestOutcome {
  std::vector<std::string> notes;    // failed calls of inline functions
  std::vector<std::string> missing;  // expected and not given, one sample a line
  std::vector<std::string> unexpected;
  bool updated = false;  // the file of expected samples was rewritten
  bool passed() const { return missing.empty() && unexpected.empty(); }
};

// Feeds a case's samples through the stages of its pipeline and compares the output, in any order. `update` writes the
// output to the case's file of expected samples instead.
Result<TestOutcome> run_test(const FileDescription &file, const TestCase &test, Symbols &symbols, bool update,
                             Launcher *launcher = nullptr);

}  // namespace atalaya::core
