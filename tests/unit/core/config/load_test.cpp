// SPDX-License-Identifier: Apache-2.0
#include "core/config/load.h"

#include <doctest/doctest.h>

#include "core/config/functions/functions.h"
#include "core/config/graph.h"
#include "core/config/stubs.h"
#include "tests/unit/core/config/fixture.h"

using namespace atalaya::core;

namespace {

const std::string kHead = "local a = require 'atalaya'\n";

class Loader {
 public:
  LoadedFiles load(const std::string &code) {
    LoadedFiles file = load_files({folder.write("main.lua", kHead + code)}, registry_, symbols, config_test::library());
    for (auto *lines : {&file.errors, &file.warnings})
      for (auto &line : *lines)
        if (line.rfind((folder / ""), 0) == 0) line.erase(0, (folder / "").size());
    return file;
  }
  // Of a file that must be sound.
  FileDescription sound(const std::string &code) {
    LoadedFiles file = load(code);
    REQUIRE_MESSAGE(file.errors.empty(), file.errors.front());
    REQUIRE(file.description);
    return std::move(*file.description);
  }
  std::string error(const std::string &code) {
    const LoadedFiles file = load(code);
    REQUIRE(file.errors.size() == 1);
    CHECK_FALSE(file.description);
    return file.errors.front();
  }

  config_test::Folder folder;
  Symbols symbols;

 private:
  Registry registry_ = config_test::registry();
};

}  // namespace

TEST_CASE("a file becomes a description") {
  Loader loader;
  const auto file = loader.sound(R"(
a.pipeline "hosts" {
  every = "5s",
  a.source.pull { processes = false },
  a.source.pull {},
  a.filter.limit { ["proc.cpu.user"] = 0.5 },
  function(s) return s end,
  a.call { function(s) return s end, on_error = "pass" },
  a.sink.store { path = "/tmp/a", queue = "1 MiB", when_full = "drop_oldest" },
}
)");
  REQUIRE(file.pipelines.size() == 1);
  const auto &pipeline = file.pipelines[0];
  CHECK(pipeline.name == "hosts");
  CHECK(pipeline.where.line == 3);
  CHECK(pipeline.every_ns == 5'000'000'000);
  REQUIRE(pipeline.sources.size() == 2);
  CHECK(pipeline.sources[0].parameters.find("processes")->i64 == 0);
  CHECK(pipeline.sources[1].parameters.find("processes")->i64 == 1);
  REQUIRE(pipeline.stages.size() == 3);
  CHECK(pipeline.stages[0].where.line == 7);
  CHECK(pipeline.stages[0].parameters.find("proc.cpu.user")->f64 == 0.5);
  CHECK(pipeline.stages[1].function == 1);
  CHECK(pipeline.stages[1].where.line == 8);
  CHECK(pipeline.stages[1].on_error == OnError::drop);
  CHECK(pipeline.stages[2].function == 2);
  CHECK(pipeline.stages[2].on_error == OnError::pass);
  REQUIRE(file.sinks.size() == 1);
  CHECK(file.sinks[0].queue == QueueLimits{1 << 20, WhenFull::drop_oldest});
  CHECK(file.sinks[0].parameters.find("queue") == nullptr);
  CHECK(file.sinks[0].parameters.find("path")->text == "/tmp/a");
  CHECK(pipeline.functions != nullptr);
  CHECK(graph_text(file) == R"(pipeline "hosts", every 5s
    5  source      pull        processes = false
    6  source      pull
    7  filter      limit       ["proc.cpu.user"] = 0.5
    8  function
    9  function                on_error = "pass"
   10  sink        store       path = "/tmp/a", queue = "1 MiB", when_full = "drop_oldest"
)");
}

TEST_CASE("one sink value in several pipelines is one sink; pipelines take each other's output") {
  Loader loader;
  const auto file = loader.sound(R"(
local db = a.sink.store { path = "/tmp/a" }
a.pipeline "first" { every = "5s", a.source.pull {}, db }
a.pipeline "second" { a.from "first", a.translate.label { team = "x" }, db }
a.pipeline "third" { a.source.push {}, a.sink.store { path = "/tmp/b" } }
)");
  REQUIRE(file.pipelines.size() == 3);
  CHECK(file.sinks.size() == 2);
  CHECK(file.pipelines[0].sinks == file.pipelines[1].sinks);
  CHECK(file.pipelines[1].from == "first");
  CHECK(file.pipelines[1].sources.empty());
  CHECK(file.pipelines[2].every_ns == 0);
  for (const auto &pipeline : file.pipelines) CHECK(pipeline.functions == nullptr);
}

TEST_CASE("a pipeline with push sources has no windows") {
  Loader loader;
  CHECK(loader.error("a.pipeline 'p' { every = '5s', a.source.push {}, a.sink.store {} }") ==
        "main.lua:2: pipeline \"p\": every: its sources give samples when they have some; leave it out");
}

TEST_CASE("two sinks on the default path are two on one path") {
  Loader loader;
  CHECK(loader.error("a.pipeline 'p' { a.source.push {}, a.sink.store {},\n a.sink.store {} }") ==
        "main.lua:3: pipeline \"p\": sink \"store\": path: the default is already written by the sink in line 2; use one sink for "
        "both: "
        "local db = a.sink.store { ... }");
}

TEST_CASE("constructors in helpers and tail calls have a line") {
  Loader loader;
  const auto file = loader.load(R"(
local function source()
  return a.source.prco {}
end
local parts = { every = "5s" }
parts[1] = source()
parts[2] = a.sink.store { pth = "x" }
a.pipeline "p" (parts)
)");
  CHECK(file.errors == std::vector<std::string>{
                           "main.lua:4: pipeline \"p\": source \"prco\" is not known; known are pull, push",
                           "main.lua:8: pipeline \"p\": sink \"store\": unknown parameter \"pth\"; did you mean \"path\"?",
                       });
}

TEST_CASE("required files count for the digest, and their constructors have their own lines") {
  Loader loader;
  const std::string main = "local sinks = require 'sinks'\na.pipeline 'p' { a.source.push {}, sinks.store }\n";
  loader.folder.write("sinks.lua", "local a = require 'atalaya'\nreturn { store = a.sink.store { path = '/tmp/a' } }\n");
  const auto file = loader.sound(main);
  CHECK(file.required == std::vector<std::string>{(loader.folder / "sinks.lua")});
  CHECK(file.sinks[0].where.file == (loader.folder / "sinks.lua"));
  CHECK(loader.sound(main).digest == file.digest);
  loader.folder.write("sinks.lua", "local a = require 'atalaya'\nreturn { store = a.sink.store { path = '/tmp/b' } }\n");
  CHECK(loader.sound(main).digest != file.digest);
}

TEST_CASE("inline functions may use the rest of their file, but declare nothing") {
  Loader loader;
  const auto file = loader.sound(R"(
local teams = { java = "data" }
a.pipeline "p" { a.source.push {}, function(s) s.tags.team = teams[s.tags.process] return s end,
  function(s) return a.source.pull {} end, a.sink.store {} }
)");
  Batch batch;
  auto &sample = batch.add_sample(ATALAYA_METRICS);
  batch.add_tag(sample, loader.symbols.intern("process"), "java");
  CHECK(file.pipelines[0].functions->apply(1, batch, false).failed == 0);
  CHECK(view_of(batch.raw().samples[0].tags[1].value) == "data");
  const auto result = file.pipelines[0].functions->apply(2, batch, false);
  CHECK(result.error == (loader.folder / "main.lua") + ":5: pipelines are declared while the file is read, not by its functions");
}

TEST_CASE("connected pipelines share the variables of their functions, others do not") {
  Loader loader;
  const auto file = loader.sound(R"(
local db = a.sink.store {}
local calls = 0
local function count(s) calls = calls + 1 s.fields["test.calls"] = calls return s end
a.pipeline "one" { a.source.push {}, count, db }
a.pipeline "branch" { a.from "one", count, db }
a.pipeline "two" { a.source.push {}, count, db }
a.pipeline "none" { a.source.push {}, db }
)");
  REQUIRE(file.pipelines.size() == 4);
  CHECK(file.pipelines[0].functions == file.pipelines[1].functions);
  CHECK(file.pipelines[0].functions != file.pipelines[2].functions);
  CHECK(file.pipelines[3].functions == nullptr);
  const auto calls = [&](size_t pipeline) {
    Batch batch;
    batch.add_sample(ATALAYA_METRICS);
    CHECK(file.pipelines[pipeline].functions->apply(file.pipelines[pipeline].stages[0].function, batch, false).failed == 0);
    return batch.raw().samples[0].fields[0].value.i64;
  };
  CHECK(calls(0) == 1);
  CHECK(calls(1) == 2);
  CHECK(calls(2) == 1);
  CHECK(calls(0) == 3);
}

TEST_CASE("values that would grow without end when they are read are refused") {
  Loader loader;
  const std::string wide = "local t = {} for i = 1, 12 do local n = {} for j = 1, 10 do n[j] = t end t = n end\n";
  const auto file = loader.load(wide + "a.pipeline 'p' { every = '5s', a.source.pull { processes = t }, a.sink.store {} }");
  REQUIRE(!file.errors.empty());
  CHECK(file.errors.front().find("the file has more values than a pipeline file may have") != std::string::npos);
  CHECK(file.errors.front().find("main.lua:3: pipeline \"p\": source \"pull\": processes[") == 0);
}

TEST_CASE("an unused definition is a warning, not an error") {
  Loader loader;
  const auto file = loader.load("local db = a.sink.store {}\na.pipeline 'p' { a.source.push {}, a.sink.store { path = 'x' } }");
  CHECK(file.description);
  CHECK(file.warnings == std::vector<std::string>{"main.lua:2: sink \"store\" is not used by any pipeline"});
}

TEST_CASE("editors learn every component, its parameters, and the common options of sinks") {
  Registry registry = config_test::registry();
  const std::string stubs = editor_stubs(registry);
  for (const char *part :
       {"---@meta atalaya\n", "error(", "---@class atalaya.source.pull\n---@field processes? boolean Processes. Default: true\n",
        "---@param parameters? atalaya.source.pull\n---@return atalaya.Source\nfunction a.source.pull(parameters) end\n",
        "---@field team string The team.\n", "function a.translate.label(parameters) end\n",
        "---@field [string] number A threshold.\n---@field absent? \"drop\"|\"pass\" Absent. Default: drop\n",
        "---@field when_full? \"block\"|\"drop_oldest\"|\"drop_newest\""}) {
    INFO(part);
    CHECK(stubs.find(part) != std::string::npos);
  }
}
