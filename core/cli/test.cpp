// SPDX-License-Identifier: Apache-2.0
// atalaya test FILE: the test cases of a pipeline file, for operators who change its rules.
#include <array>
#include <cstdio>

#include "core/base/text/text.h"
#include "core/cli/cli.h"
#include "core/config/check/run_test.h"
#include "core/config/load.h"

namespace atalaya::core::cli {
namespace {

constexpr std::array kTestOptions = {OptionSpec{"--update", "", "Write the output to the files of expected samples"}};

std::string plural(size_t count, const std::string &one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

// Prints the result of one case; true if it passed.
bool show(const FileDescription &file, const TestCase &test, const Result<TestOutcome> &result) {
  const std::string label = prefix_of(test.where) + "test " + in_quotes(test.name) + ": pipeline " +
                            in_quotes(file.pipelines.at(test.pipeline).name) + ": ";
  if (!result.ok()) {
    std::printf("%s%s\n", label.c_str(), result.error().c_str());
    return false;
  }
  const TestOutcome &outcome = result.value();
  for (const auto &note : outcome.notes) std::printf("%sfunction failed: %s\n", label.c_str(), note.c_str());
  if (outcome.passed()) {
    std::printf("%s%s\n", label.c_str(), outcome.updated ? "expected samples written" : "ok");
    return true;
  }
  std::printf("%s%s missing (-), %zu unexpected (+)\n", label.c_str(), plural(outcome.missing.size(), "sample").c_str(),
              outcome.unexpected.size());
  for (const auto &line : outcome.missing) std::printf("  - %s\n", line.c_str());
  for (const auto &line : outcome.unexpected) std::printf("  + %s\n", line.c_str());
  return false;
}

int test(const Arguments &arguments) {
  const std::string &path = arguments.positional.at(0);
  Registry registry = Registry::scan(Registry::default_folders(arguments.get("--plugins").value_or("")));
  Symbols symbols;
  const LoadedTests loaded = load_tests({path}, registry, symbols, default_lua_library());
  for (const auto &error : loaded.files.errors) std::fprintf(stderr, "%s\n", error.c_str());
  for (const auto &warning : loaded.files.warnings) std::fprintf(stderr, "warning: %s\n", warning.c_str());
  if (!loaded.files.description) return kWrongUse;
  if (loaded.tests.empty()) {
    std::fprintf(stderr, "%s: no test in this file; add a.test \"name\" { pipeline = ..., input = ..., expect = ... }\n",
                 path.c_str());
    return kWrongUse;
  }
  Launcher launcher;
  size_t failed = 0;
  for (const auto &test_case : loaded.tests) {
    const auto result = run_test(*loaded.files.description, test_case, symbols, arguments.has("--update"), &launcher);
    if (!show(*loaded.files.description, test_case, result)) ++failed;
  }
  std::printf("%s, %zu failed\n", plural(loaded.tests.size(), "test").c_str(), failed);
  return failed == 0 ? kDone : kFailed;
}

}  // namespace

const Command test_command = {
    .name = "test",
    .operands = "FILE",
    .summary = "Run recorded samples through pipelines and compare the output",
    .example =
        "atalaya test /etc/atalaya/atalaya.lua\n"
        "atalaya test pipelines/host.lua\n"
        "atalaya test --update my-pipeline.lua",
    .min_operands = 1,
    .max_operands = 1,
    .options = kTestOptions,
    .run = test,
};

}  // namespace atalaya::core::cli
