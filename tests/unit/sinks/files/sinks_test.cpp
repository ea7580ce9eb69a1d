// SPDX-License-Identifier: Apache-2.0
// The built plugins file and stdout, called as a host calls them.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "tests/unit/core/sample/sample_maker.h"
#include "tests/unit/core/sample/zone.h"
#include "tests/unit/sinks/files/files.h"
#include "tests/unit/sinks/files/plugin_host.h"

using atalaya::core::testing::Maker;
using atalaya::core::testing::Zone;
using namespace atalaya::testing;

namespace {

void add_samples(Maker &maker) {
  maker.field(maker.add(ATALAYA_METRICS, {{"host", "vm"}, {"pid", "1"}}), "proc.cpu.user", 1.5);
  maker.count(maker.add(ATALAYA_STACK, {}, "main;read"), "profile.samples", 2);
  maker.count(maker.add(ATALAYA_STACK, {}, "main;write"), "profile.samples", 3);
}

// Standard output goes to a file while this lives.
class Captured {
 public:
  explicit Captured(const std::string &path) : path_(path) {
    std::fflush(stdout);
    saved_ = ::dup(STDOUT_FILENO);
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(file, STDOUT_FILENO);
    ::close(file);
  }
  Captured(const Captured &) = delete;
  Captured &operator=(const Captured &) = delete;
  ~Captured() { restore(); }
  std::string text() {
    restore();
    return content(path_);
  }

 private:
  void restore() {
    if (saved_ < 0) return;
    ::dup2(saved_, STDOUT_FILENO);
    ::close(saved_);
    saved_ = -1;
  }
  std::string path_;
  int saved_ = -1;
};

}  // namespace

TEST_CASE("file: samples without a line in the format are dropped with a reason, once, also after a retry") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "sub");
  const std::string path = folder / "sub/out.csv";
  Maker maker;
  add_samples(maker);
  LoadedSink sink(SINK_FILE, maker.symbols, {{"path", path}, {"format", "csv"}},
                  {{"keep", 5}, {"sync", 0}, {"escape_formulas", 0}});
  REQUIRE(sink.created() == ATALAYA_OK);
  REQUIRE(sink.start() == ATALAYA_OK);

  std::filesystem::remove_all(folder / "sub");
  CHECK(sink.write(maker.batch.raw()) == ATALAYA_RETRY);
  CHECK(sink.error() == path + ": the folder " + folder / "sub" + " does not exist; create it or change path");
  CHECK(sink.dropped().empty());

  std::filesystem::create_directory(folder / "sub");
  CHECK(sink.write(maker.batch.raw()) == ATALAYA_OK);
  CHECK(sink.dropped() == std::map<std::string, uint64_t>{{"csv has no form for stacks", 2}});
  CHECK(content(path) == "time,metric,value,host,pid,process,tags\n1795219532123,proc.cpu.user,1.5,vm,1,,\n");
}

TEST_CASE("file: a path that cannot work is refused at the start") {
  const TemporaryFolder folder;
  Maker maker;
  LoadedSink sink(SINK_FILE, maker.symbols, {{"path", folder / "no/out"}, {"format", "jsonlines"}}, {{"keep", 5}, {"sync", 0}});
  REQUIRE(sink.created() == ATALAYA_OK);
  CHECK(sink.start() == ATALAYA_BAD_CONFIG);
  LoadedSink empty(SINK_FILE, maker.symbols, {{"path", ""}, {"format", "jsonlines"}}, {{"keep", 5}, {"sync", 0}});
  CHECK(empty.created() == ATALAYA_BAD_CONFIG);
  CHECK(empty.error() == "path is empty; set the output file");
}

TEST_CASE("stdout: a table, all columns when it is no terminal") {
  const Zone zone("CET-1");
  const TemporaryFolder folder;
  Maker maker;
  atalaya_sample &sample = maker.add(ATALAYA_METRICS, {{"host", "vm"}, {"pid", "1"}});
  for (int i = 0; i < 20; ++i) maker.count(sample, "proc.number" + std::to_string(i), i);
  LoadedSink sink(SINK_STDOUT, maker.symbols, {{"format", "table"}, {"sort", ""}}, {{"max_rows", 0}});
  REQUIRE(sink.start() == ATALAYA_OK);
  Captured output(folder / "out");
  const int32_t code = sink.write(maker.batch.raw());
  const std::string text = output.text();
  CHECK(code == ATALAYA_OK);
  CHECK(text.starts_with("proc by pid; host vm; 2026-11-21 01:05:32 UTC+01:00; window 5 s\npid  number0  number1 "));
  CHECK(std::count(text.begin(), text.end(), '\n') == 4);
}

TEST_CASE("stdout: csv begins with one header and drops stacks with a reason") {
  const TemporaryFolder folder;
  Maker maker;
  add_samples(maker);
  LoadedSink sink(SINK_STDOUT, maker.symbols, {{"format", "csv"}, {"sort", ""}}, {{"max_rows", 0}});
  Captured output(folder / "out");
  const int32_t first = sink.write(maker.batch.raw());
  const int32_t second = sink.write(maker.batch.raw());
  const std::string row = "1795219532123,proc.cpu.user,1.5,vm,1,,\n";
  CHECK(output.text() == "time,metric,value,host,pid,process,tags\n" + row + row);
  CHECK(first == ATALAYA_OK);
  CHECK(second == ATALAYA_OK);
  CHECK(sink.dropped() == std::map<std::string, uint64_t>{{"csv has no form for stacks", 4}});
}
