// SPDX-License-Identifier: Apache-2.0
// The test cases of a pipeline file: a.test "name" { pipeline = "p", input = ..., expect = ... }.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/config/load.h"

namespace atalaya::core {

struct TestSample {
  uint32_t kind = ATALAYA_METRICS;
  int64_t time_ns = 0, duration_ns = 0;
  std::string text;
  std::vector<std::pair<std::string, std::string>> tags;
  std::vector<std::pair<std::string, atalaya_field>> fields;  // name and value; the field's id is not set
};

// Samples in the pipeline file, or in a file of samples.
struct TestSamples {
  std::string file;  // relative to the pipeline file's folder; "": the samples are in `samples`
  std::vector<TestSample> samples;
};

struct TestCase {
  std::string name;
  Location where;
  size_t pipeline = 0;                   // index in FileDescription::pipelines
  int64_t time_ns = 0, interval_ns = 0;  // the test's window
  TestSamples input, expect;
};

struct LoadedTests {
  LoadedFiles files;
  std::vector<TestCase> tests;
};

// Loads pipeline files (load_files) and their test cases.
LoadedTests load_tests(const std::vector<std::string> &paths, Registry &registry, Symbols &symbols, const std::string &library);

}  // namespace atalaya::core
