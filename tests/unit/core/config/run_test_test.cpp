// SPDX-License-Identifier: Apache-2.0
#include "core/config/check/run_test.h"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "core/base/encode/flat.h"
#include "tests/unit/core/config/fixture.h"

using namespace atalaya::core;

namespace {

const std::string kHead = R"(local a = require "atalaya"
a.pipeline "p" { every = "10s", a.source.pull {}, a.translate.label { team = "data" },
  function(s) if s.tags.process == "idle" then return nil end return s end, a.sink.store {} }
)";

class Tests {
 public:
  LoadedTests load(const std::string &code) {
    return load_tests({folder.write("main.lua", kHead + code)}, registry_, symbols, config_test::library());
  }
  Result<TestOutcome> run(const std::string &code, bool update = false) {
    const LoadedTests loaded = load(code);
    REQUIRE_MESSAGE(loaded.files.errors.empty(), loaded.files.errors.front());
    REQUIRE(loaded.tests.size() == 1);
    return run_test(*loaded.files.description, loaded.tests[0], symbols, update);
  }
  std::string read(const std::string &name) const {
    std::ifstream file((folder / name));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  config_test::Folder folder;
  Symbols symbols;

 private:
  Registry registry_ = config_test::registry();
};

}  // namespace

TEST_CASE("samples go through the stages and are compared in any order") {
  Tests tests;
  const auto outcome = tests.run(R"(a.test "t" { pipeline = "p",
    input = { { tags = { process = "java" }, fields = { n = 5 } }, { tags = { process = "idle" } }, { tags = { process = "bash" } } },
    expect = { { tags = { team = "data", process = "bash" } }, { tags = { process = "java", team = "data" }, fields = { n = 5 } } } })");
  REQUIRE_MESSAGE(outcome.ok(), outcome.error());
  CHECK(outcome.value().passed());
  CHECK(outcome.value().notes.empty());
}

TEST_CASE("missing and unexpected samples are shown, an integer is no real number") {
  Tests tests;
  const auto outcome = tests.run(R"(a.test "t" { pipeline = "p", time = 7,
    input = { { tags = { process = "java" }, fields = { n = 5 } } },
    expect = { { tags = { process = "java", team = "data" }, fields = { n = 5.0 } } } })");
  REQUIRE(outcome.ok());
  CHECK(outcome.value().missing ==
        std::vector<std::string>{
            R"({"kind":"metrics","time":7,"duration":10000000000,"tags":{"process":"java","team":"data"},"fields":{"n":5.0}})"});
  CHECK(outcome.value().unexpected ==
        std::vector<std::string>{
            R"({"kind":"metrics","time":7,"duration":10000000000,"tags":{"process":"java","team":"data"},"fields":{"n":5}})"});
}

TEST_CASE("a recording is fed window by window, its expected samples live in a file that --update writes") {
  Tests tests;
  std::string recording;
  for (int window = 0; window < 2; ++window) {
    Batch batch;
    auto &sample = batch.add_sample(ATALAYA_SPAN);
    sample.time_ns = 100 + window;
    sample.text = batch.copy("map");
    REQUIRE(encode_flat(batch.raw(), tests.symbols, recording).ok());
  }
  tests.folder.write("in.atb", recording);
  const std::string code = R"(a.test "t" { pipeline = "p", input = "in.atb", expect = "out.jsonl" })";
  CHECK(tests.run(code).error() == (tests.folder / "out.jsonl") + ": No such file or directory; atalaya test --update writes it");
  CHECK(tests.run(code, true).value().updated);
  CHECK(tests.read("out.jsonl") == R"({"kind":"span","time":100,"duration":0,"text":"map","tags":{"team":"data"},"fields":{}})"
                                   "\n"
                                   R"({"kind":"span","time":101,"duration":0,"text":"map","tags":{"team":"data"},"fields":{}})"
                                   "\n");
  CHECK(tests.run(code).value().passed());
  tests.folder.write("in.atb", recording.substr(0, recording.size() - 8));
  CHECK(tests.run(code).error() == (tests.folder / "in.atb") + ": ends in the middle of a record");
}

TEST_CASE("a function that fails is noted and follows its policy") {
  Tests tests;
  const LoadedTests loaded = tests.load(R"(
a.pipeline "q" { a.source.push {}, a.call { function(s) error("no") end, on_error = "pass" }, a.sink.store { path = "q" } }
a.test "t" { pipeline = "q", input = { { time = 1, duration = 0 } }, expect = { { time = 1, duration = 0 } } })");
  REQUIRE(loaded.files.errors.empty());
  const auto outcome = run_test(*loaded.files.description, loaded.tests[0], tests.symbols, false);
  REQUIRE(outcome.ok());
  CHECK(outcome.value().passed());
  CHECK(outcome.value().notes == std::vector<std::string>{(tests.folder / "main.lua") + ":5: no"});
}

TEST_CASE("mistakes in a test case are errors of the file") {
  Tests tests;
  const LoadedTests loaded = tests.load("a.test \"t\" { pipelin = \"p\", input = { { time = \"now\" } }, expect = {} }");
  CHECK_FALSE(loaded.files.description);
  const std::string place = (tests.folder / "main.lua") + ":4: test \"t\": ";
  CHECK(loaded.files.errors ==
        std::vector<std::string>{place + "required parameter \"pipeline\" is missing: a string",
                                 place + "unknown parameter \"pipelin\"; did you mean \"pipeline\"?",
                                 place + "input[1].time: expected a whole number (ns), got \"now\" (string)"});
}
