// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/table/table.h"

#include <doctest/doctest.h>

#include <sstream>

#include "core/base/text/safe_text.h"
#include "tests/unit/core/sample/sample_maker.h"
#include "tests/unit/core/sample/zone.h"

using namespace atalaya;
using namespace atalaya::core;
using atalaya::core::testing::Maker;
using atalaya::core::testing::Zone;

namespace {

std::string tables(Maker &maker, const io::TableOptions &options) {
  std::string out;
  io::append_tables({maker.batch.raw().samples, maker.batch.count()}, maker.name_of(), options, out);
  return out;
}

void add_process(Maker &maker, std::string_view pid, std::string_view name, double user) {
  atalaya_sample &sample = maker.add(ATALAYA_METRICS, {{"host", "vm"}, {"pid", pid}, {"process", name}});
  maker.field(sample, "proc.cpu.user", user);
}

}  // namespace

TEST_CASE("one table a family and set of tags, numbers to the right, the shared host in the title") {
  const Zone zone("UTC0");
  Maker maker;
  add_process(maker, "1", "systemd", 0.25);
  atalaya_sample &java = maker.add(ATALAYA_METRICS, {{"host", "vm"}, {"pid", "8860"}, {"process", "java"}});
  maker.field(java, "proc.cpu.user", 99.4);
  maker.count(java, "proc.threads", 31);
  maker.field(maker.add(ATALAYA_METRICS, {{"host", "vm"}}), "sys.mem.usage", 12.0);
  maker.field(maker.add(ATALAYA_METRICS, {{"host", "vm"}, {"core", "0"}}), "sys.cpu.user", 3.14159);
  CHECK(tables(maker, {}) ==
        "proc by pid, process; host vm; 2026-11-21 00:05:32 UTC; window 5 s\n"
        "pid   process  cpu.user  threads\n"
        "8860  java         99.4       31\n"
        "1     systemd      0.25        -\n"
        "\n"
        "sys; host vm; 2026-11-21 00:05:32 UTC; window 5 s\n"
        "mem.usage\n"
        "       12\n"
        "\n"
        "sys by core; host vm; 2026-11-21 00:05:32 UTC; window 5 s\n"
        "core  cpu.user\n"
        "0        3.142\n"
        "\n");
}

TEST_CASE("several hosts get a column; rows are sorted and limited") {
  const Zone zone("UTC0");
  Maker maker;
  for (const auto &[host, value] : {std::pair{"a", 1.0}, {"b", 3.0}, {"c", 2.0}})
    maker.field(maker.add(ATALAYA_METRICS, {{"host", host}}), "sys.power", value);
  maker.field(maker.add(ATALAYA_METRICS, {{"host", "d"}}), "sys.other", 9);
  io::TableOptions options;
  options.sort = "sys.power";
  options.max_rows = 2;
  CHECK(tables(maker, options) ==
        "sys by host; 2026-11-21 00:05:32 UTC; window 5 s\n"
        "host  power\n"
        "b         3\n"
        "c         2\n"
        "2 more rows\n"
        "\n");
}

TEST_CASE("a field whose short name is a tag's keeps its full name") {
  Maker maker;
  maker.count(maker.add(ATALAYA_METRICS, {{"core", "0"}}), "sys.core", 1);
  CHECK(tables(maker, {}).find("core  sys.core\n") != std::string::npos);
}

TEST_CASE("no line is wider than the terminal, and every field is there") {
  Maker maker;
  for (const char *name : {"java", "a very long process name that goes on and on and on and on and on and on"}) {
    atalaya_sample &sample = maker.add(ATALAYA_METRICS, {{"host", "vm"}, {"pid", "8860"}, {"process", name}});
    for (int i = 0; i < 14; ++i) maker.field(sample, "proc.some.field" + std::to_string(i), i * 1234.5);
  }
  io::TableOptions options;
  options.width = 80;
  const std::string text = tables(maker, options);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(display_width(line) <= 80, line);
  for (int i = 0; i < 14; ++i) CHECK(text.find("some.field" + std::to_string(i)) != std::string::npos);
  CHECK(text.find("16048.5") != std::string::npos);
  CHECK(text.find("a very long process name that g…") != std::string::npos);
}

TEST_CASE("a process name cannot forge a row, and wide characters keep the columns straight") {
  const Zone zone("UTC0");
  Maker maker;
  add_process(maker, "1", "x\n2  root", 1);
  add_process(maker, "3", "東京", 2);
  CHECK(tables(maker, {}) ==
        "proc by pid, process; host vm; 2026-11-21 00:05:32 UTC; window 5 s\n"
        "pid  process       cpu.user\n"
        "3    東京                 2\n"
        "1    x\\x0a2  root         1\n"
        "\n");
}

TEST_CASE("stacks and spans") {
  const Zone zone("UTC0");
  Maker maker;
  maker.count(maker.add(ATALAYA_STACK, {{"pid", "1"}}, "main;read;copy_to_user_[k]"), "profile.samples", 6);
  maker.add(ATALAYA_SPAN, {{"job", "j1"}}, "map");
  maker.add(ATALAYA_SPAN, {{"job", "j1"}}, "reduce").duration_ns = -1;
  io::TableOptions options;
  options.width = 40;
  CHECK(tables(maker, options) ==
        "stacks by pid; 2026-11-21 00:05:32 UTC;…\n"
        "pid  profile.samples\n"
        "1                  6\n"
        "pid  stack\n"
        "1    main;read;copy_to_user_[k]\n"
        "\n"
        "spans by job\n"
        "job  start                      duration\n"
        "j1   2026-11-21 00:05:32+00:00       5 s\n"
        "j1   2026-11-21 00:05:32+00:00      open\n"
        "job  span\n"
        "j1   map\n"
        "j1   reduce\n"
        "\n");
}

TEST_CASE("times are local and have their offset") {
  const Zone zone("CET-1");
  Maker maker;
  maker.count(maker.add(ATALAYA_METRICS, {{"pid", "1"}}), "proc.threads", 6);
  maker.add(ATALAYA_SPAN, {{"job", "j1"}}, "map");
  const std::string text = tables(maker, {});
  CHECK(text.find("proc by pid; 2026-11-21 01:05:32 UTC+01:00; window 5 s\n") != std::string::npos);
  CHECK(text.find("j1   2026-11-21 01:05:32+01:00") != std::string::npos);
}

TEST_CASE("a stack that is wider than the terminal is cut") {
  Maker maker;
  maker.count(maker.add(ATALAYA_STACK, {{"pid", "1"}}, "main;read;copy_to_user_[k]"), "profile.samples", 6);
  io::TableOptions options;
  options.width = 20;
  CHECK(tables(maker, options).find("1    main;read;copy…\n") != std::string::npos);
}

TEST_CASE("numbers of all sizes stay readable") {
  Maker maker;
  atalaya_sample &sample = maker.add(ATALAYA_METRICS, {});
  maker.field(sample, "a.a", 0.0001);
  maker.field(sample, "a.b", 1e18);
  maker.field(sample, "a.c", -0.0);
  maker.field(sample, "a.d", 123456789.5);
  maker.count(sample, "a.e", -7);
  CHECK(tables(maker, {}).find("1.000e-04  1.000e+18  0  123456789.5  -7\n") != std::string::npos);
  CHECK(tables(maker, {}).find("        a          b  c            d   e\n") != std::string::npos);
}

TEST_CASE("no samples, no table") {
  Maker maker;
  CHECK(tables(maker, {}).empty());
}
