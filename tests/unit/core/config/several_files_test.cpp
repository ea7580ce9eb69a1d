// SPDX-License-Identifier: Apache-2.0
// Several pipeline files in one run: what they share, and what they do not.
#include <doctest/doctest.h>

#include "core/config/functions/functions.h"
#include "core/config/graph.h"
#include "core/config/load.h"
#include "tests/unit/core/config/fixture.h"

using namespace atalaya::core;

namespace {

const std::string kHead = "local a = require 'atalaya'\n";

class Files {
 public:
  // Writes a file; a name may have a folder.
  Files &add(const std::string &name, const std::string &code) {
    std::filesystem::create_directories(std::filesystem::path(folder_ / name).parent_path());
    paths_.push_back(folder_.write(name, kHead + code));
    return *this;
  }
  void module(const std::string &name, const std::string &code) {
    std::filesystem::create_directories(std::filesystem::path(folder_ / name).parent_path());
    folder_.write(name, code);
  }
  std::string path(const std::string &name) const { return folder_ / name; }

  LoadedFiles load() {
    LoadedFiles files = load_files(paths_, registry_, symbols_, config_test::library());
    for (auto *lines : {&files.errors, &files.warnings})
      for (auto &line : *lines)
        for (size_t at = 0; (at = line.find(folder_ / "", at)) != std::string::npos;) line.erase(at, (folder_ / "").size());
    return files;
  }
  FileDescription sound() {
    LoadedFiles files = load();
    REQUIRE_MESSAGE(files.errors.empty(), files.errors.front());
    return std::move(*files.description);
  }
  std::vector<std::string> errors() { return load().errors; }
  Symbols &symbols() { return symbols_; }

 private:
  config_test::Folder folder_;
  std::vector<std::string> paths_;
  Symbols symbols_;
  Registry registry_ = config_test::registry();
};

// The tag `team` that the only function of a pipeline sets.
std::string team_of(const PipelineDescription &pipeline, Symbols &symbols) {
  Batch batch;
  const atalaya_sample &sample = batch.add_sample(ATALAYA_METRICS);
  const auto result = pipeline.functions->apply(pipeline.stages.at(0).function, batch, false);
  REQUIRE_MESSAGE(result.failed == 0, result.error);
  REQUIRE(sample.tag_count == 1);
  CHECK(symbols.name(sample.tags[0].key) == "team");
  return std::string(view_of(sample.tags[0].value));
}

}  // namespace

TEST_CASE("equal sinks of different files are one") {
  Files files;
  files.add("a.lua", "a.pipeline 'p' { a.source.push {}, a.sink.store { path = '/tmp/s' } }");
  files.add("b.lua", "a.pipeline 'q' { a.source.push {}, a.sink.store { path = '/tmp/s' }, a.sink.store { path = '/tmp/t' } }");
  const auto file = files.sound();
  REQUIRE(file.pipelines.size() == 2);
  CHECK(file.sinks.size() == 2);
  CHECK(file.pipelines[0].sinks == std::vector<size_t>{0});
  CHECK(file.pipelines[1].sinks == std::vector<size_t>{0, 1});
}

TEST_CASE("sinks on one path with other parameters are an error that names both files") {
  Files files;
  files.add("a.lua", "a.pipeline 'p' { a.source.push {}, a.sink.store { path = '/tmp/s' } }");
  files.add("b.lua", "a.pipeline 'q' { a.source.push {}, a.sink.store { path = '/tmp/s', queue = '1 MiB' } }");
  CHECK(files.errors() ==
        std::vector<std::string>{
            "b.lua:2: pipeline \"q\": sink \"store\": path: \"/tmp/s\" is already written by the sink in a.lua:2; "
            "give both the same parameters, and they are one sink"});
}

TEST_CASE("two sinks on one path in one file stay an error next to another file") {
  Files files;
  files.add("a.lua", "a.pipeline 'p' { a.source.push {}, a.sink.store { path = '/tmp/s' } }");
  files.add("b.lua",
            "a.pipeline 'q' { a.source.push {}, a.sink.store { path = '/tmp/s' } }\n"
            "a.pipeline 'r' { a.source.push {}, a.sink.store { path = '/tmp/s' } }");
  const auto errors = files.errors();
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].rfind("b.lua:3: pipeline \"r\": sink \"store\": path: \"/tmp/s\" is already written", 0) == 0);
}

TEST_CASE("equal pipelines of different files are one, with the sinks of both") {
  const std::string pipeline = "every = '5s', a.source.pull { processes = false }, a.filter.limit { ['proc.cpu.user'] = 1 }, ";
  Files files;
  files.add("a.lua", "a.pipeline 'host' { " + pipeline + "a.sink.store { path = '/tmp/s' } }");
  files.add("b.lua", "\na.pipeline 'host' { " + pipeline +
                         "a.sink.store { path = '/tmp/s' }, a.sink.store { path = '/tmp/t' } }\n" +
                         "a.pipeline 'more' { a.from 'host', a.sink.store { path = '/tmp/u' } }");
  const auto file = files.sound();
  REQUIRE(file.pipelines.size() == 2);
  CHECK(file.pipelines[0].where.file == files.path("a.lua"));
  CHECK(file.pipelines[0].sinks == std::vector<size_t>{0, 1});
  CHECK(file.sinks.size() == 3);
  const std::string graph = graph_text(file);
  CHECK(graph.find("pipeline \"host\", every 5s  (" + files.path("a.lua") + ")") != std::string::npos);
  CHECK(graph.find("path = \"/tmp/t\"  (" + files.path("b.lua") + ")") != std::string::npos);
}

TEST_CASE("of equal pipelines the shorter windows hold") {
  for (const auto &[there, here] : {std::pair("5s", "1s"), std::pair("1s", "5s")}) {
    Files files;
    files.add("a.lua",
              std::string("a.pipeline 'host' { every = '") + there + "', a.source.pull {}, a.sink.store { path = '/tmp/s' } }");
    files.add("b.lua",
              std::string("a.pipeline 'host' { every = '") + here + "', a.source.pull {}, a.sink.store { path = '/tmp/s' } }");
    const auto file = files.sound();
    REQUIRE(file.pipelines.size() == 1);
    CHECK(file.pipelines[0].every_ns == 1'000'000'000);
  }
}

TEST_CASE("different pipelines of one name are an error that names both files and the difference") {
  const auto difference = [](const std::string &there, const std::string &here) {
    Files files;
    files.add("a.lua", "a.pipeline 'p' { " + there + ", a.sink.store {} }");
    files.add("b.lua", "\na.pipeline 'p' { " + here + ", a.sink.store {} }");
    const auto errors = files.errors();
    REQUIRE(errors.size() == 1);
    const std::string begin = "b.lua:3: pipeline \"p\": a.lua:2 has another pipeline of this name: ";
    const std::string end = "; make them equal, rename one, or run one of the files";
    REQUIRE_MESSAGE(errors[0].rfind(begin, 0) == 0, errors[0]);
    return errors[0].substr(begin.size(), errors[0].size() - begin.size() - end.size());
  };
  const std::string pull = "every = '5s', a.source.pull {}";
  CHECK(difference(pull, "every = '5s', a.source.pull { processes = false }") == "source \"pull\" has other parameters");
  CHECK(difference(pull, "a.source.push {}") == "every is 5s there and missing here");
  CHECK(difference(pull, pull + ", a.source.pull {}") == "source \"pull\" is only here");
  CHECK(difference(pull + ", a.translate.label { team = 'x' }", pull) == "translate \"label\" is only there");
  CHECK(difference(pull + ", a.translate.label { team = 'x' }", pull + ", a.filter.limit { ['a.b'] = 1 }") ==
        "translate \"label\" is there and filter \"limit\" here");
  CHECK(difference(pull + ", function(s) return s end", pull + ", function(s) return s end") ==
        "it has a function, which cannot be compared");
}

TEST_CASE("each file has its own folder, modules and global variables") {
  const std::string code = "team = require('rules').team\nstring.suffix = require('rules').suffix\na.pipeline ";
  Files files;
  files.module("x/rules.lua", "return { team = 'red', suffix = '1' }");
  files.module("y/rules.lua", "return { team = 'blue', suffix = '2' }");
  files.add("x/main.lua",
            code + "'p' { a.source.push {}, function(s) s.tags.team = team .. string.suffix return s end, a.sink.store {} }");
  files.add("y/main.lua",
            code + "'q' { a.source.push {}, function(s) s.tags.team = team .. string.suffix return s end, a.sink.store {} }");
  const auto file = files.sound();
  CHECK(team_of(file.pipelines[0], files.symbols()) == "red1");
  CHECK(team_of(file.pipelines[1], files.symbols()) == "blue2");
  CHECK(file.required == std::vector<std::string>{files.path("x/rules.lua"), files.path("y/rules.lua")});
}

TEST_CASE("the mistakes of all files are reported with their own places, in the order of the files") {
  Files files;
  files.add("b.lua", "a.pipeline 'p' { a.source.push {}, a.sink.stroe {} }");
  files.add("a.lua", "local x = nil\nx.y = 1");
  files.add("c.lua", "a.pipeline 'q' { a.source.push {} ");
  const auto errors = files.errors();
  REQUIRE(errors.size() == 3);
  CHECK(errors[0].rfind("b.lua:2: pipeline \"p\": sink \"stroe\" is not known", 0) == 0);
  CHECK(errors[1].rfind("a.lua:3: ", 0) == 0);
  CHECK(errors[2].rfind("c.lua:2: ", 0) == 0);
}

TEST_CASE("a file without a pipeline, and a file that is named twice") {
  Files empty;
  empty.add("a.lua", "a.pipeline 'p' { a.source.push {}, a.sink.store {} }").add("b.lua", "");
  CHECK(empty.errors() ==
        std::vector<std::string>{"b.lua: there is no pipeline in this file; begin with a.pipeline \"name\" { ... }"});
  Files twice;
  const std::string pipeline = "a.pipeline 'p' { a.source.push {}, a.sink.store {} }";
  twice.add("a.lua", pipeline).add("a.lua", pipeline);
  CHECK(twice.errors() == std::vector<std::string>{"a.lua: is named twice; name each file once"});
}

TEST_CASE("a source that two files read into one sink is a warning") {
  Files files;
  files.add("a.lua", "a.pipeline 'p' { every = '5s', a.source.pull {}, a.sink.store { path = '/tmp/s' } }");
  files.add("b.lua",
            "a.pipeline 'q' { every = '1s', a.source.pull {}, a.sink.store { path = '/tmp/s' } }\n"
            "a.pipeline 'r' { every = '1s', a.source.pull {}, a.sink.store { path = '/tmp/t' } }");
  const auto loaded = files.load();
  CHECK(loaded.errors.empty());
  CHECK(loaded.warnings ==
        std::vector<std::string>{
            "b.lua:2: pipeline \"q\": source \"pull\" also feeds this sink from pipeline \"p\" (a.lua:2); values "
            "that both collect are stored twice"});
}
