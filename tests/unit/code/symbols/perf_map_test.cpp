// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/symbols/perf_map.h"

#include <doctest/doctest.h>

#include <string>

namespace atalaya::symbols {

TEST_CASE("both ways to write numbers, names with blanks, and no blanks behind them") {
  const PerfMap map("7f00 10 Lorg/x/Y;::m\n0x0000000000008000 0x0000000000000020 long W.fib(int)\n9000 10 StubRoutines (1) \n");
  CHECK(map.find(0x7f0f) == "Lorg/x/Y;::m");
  CHECK(map.find(0x7f10).empty());
  CHECK(map.find(0x8000) == "long W.fib(int)");
  CHECK(map.find(0x9001) == "StubRoutines (1)");
  CHECK(map.find(0).empty());
}

TEST_CASE("a later line holds where two overlap") {
  const PerfMap map("1000 100 old\n1040 20 inner\n10f0 20 tail\n");
  CHECK(map.find(0x1000) == "old");
  CHECK(map.find(0x1040) == "inner");
  CHECK(map.find(0x105f) == "inner");
  CHECK(map.find(0x1060) == "old");
  CHECK(map.find(0x10f0) == "tail");
  CHECK(map.find(0x110f) == "tail");
  const PerfMap again("1000 10 a\n1010 10 b\n1020 10 c\n1008 20 new\n");
  CHECK(again.find(0x1007) == "a");
  CHECK(again.find(0x1010) == "new");
  CHECK(again.find(0x1027) == "new");
  CHECK(again.find(0x1028) == "c");
}

TEST_CASE("invalid lines, and the one that is being written, are left out") {
  const PerfMap map("zz 10 a\n1000\n1000 10\n1000 0 empty\nffffffffffffffff 10 wraps\n2000 10 cut");
  CHECK(map.size() == 0);
}

TEST_CASE("of too many lines the last ones count") {
  std::string text = "1000 10 first\n";
  for (size_t i = 0; i < kMaxPerfMapLines - 1; ++i) text += "2000 10 x\n";
  CHECK(PerfMap(text).find(0x1000) == "first");
  text += "3000 10 last\n";
  CHECK(PerfMap(text).find(0x1000).empty());
  CHECK(PerfMap(text).find(0x3000) == "last");
}

}  // namespace atalaya::symbols
