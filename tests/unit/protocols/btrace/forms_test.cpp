// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include "tests/unit/protocols/btrace/line_bench.h"
#include "tests/unit/protocols/records.h"

namespace atalaya::testing {

TEST_CASE("btrace forms: numbers, exactly") {
  LineBench bench;
  CHECK(bench.read({"requests = 5", "big = 9223372036854775807", "ratio = 0.25", "large = 1.0E10", "a name with blanks! = -3",
                    "x = NaN", "y = text"}) == Lines{"btrace.requests=5i", "btrace.big=9223372036854775807i", "btrace.ratio=0.25",
                                                     "btrace.large=10000000000", "btrace.a_name_with_blanks_=-3i"});
}

TEST_CASE("btrace forms: a map has its name before it, or none") {
  LineBench bench;
  CHECK(bench.read({"ByClass", "java.lang.String = 7", "int[] = 2", "label = text", "x = 1", "", "alone = 3"}) ==
        Lines{"[key=java.lang.String] btrace.ByClass=7i", "[key=int[]] btrace.ByClass=2i", "[key=x] btrace.ByClass=1i",
              "btrace.alone=3i"});
  // A message is no map's name.
  CHECK(bench.read({"all tasks done", "left = 0", "----------", "left = 1"}) == Lines{"btrace.left=0i", "btrace.left=1i"});
  CHECK(bench.counts().forms.plain == 2);
}

TEST_CASE("btrace forms: messages with BTrace's own time") {
  LineBench bench;
  tm parts{};
  const time_t now = kNow / kSecond;
  localtime_r(&now, &parts);
  char clock[16];
  strftime(clock, sizeof(clock), "%H:%M:%S", &parts);
  const std::string prefix = std::string(clock) + ":250 : ";
  const std::string at = std::to_string(kNow + kSecond / 4);
  CHECK(bench.read({prefix + "requests = 5", prefix + "Heading", "requests = 6", prefix + "atalaya begin task task=t",
                    "atalaya end task task=t"}) ==
        Lines{"@" + at + " btrace.requests=5i", "btrace.requests=6i"});  // the end came before its begin
  CHECK(bench.counts().forms.plain == 1);
  CHECK(bench.reader->spans().counts().backwards == 1);
}

TEST_CASE("btrace forms: fields and arrays") {
  LineBench bench;
  CHECK(bench.read({"{count=3, name=x, size=0.5, }", "{java.util.ArrayList.size=10, java.util.ArrayList.modCount=4, }",
                    "[7, x, 1.5, ]", "{}", "[, ]"}) ==
        Lines{"btrace.count=3i btrace.size=0.5", "btrace.java.util.ArrayList.size=10i btrace.java.util.ArrayList.modCount=4i",
              "[index=0] btrace.array=7i", "[index=2] btrace.array=1.5"});
}

TEST_CASE("btrace forms: an aggregation is a table") {
  LineBench bench;
  CHECK(bench.read({"Global Count", "                  12", "By query", "  select * from a          5",
                    "  insert into b  c        10", "plain text"}) ==
        Lines{"btrace.Global_Count=12i", "[key=select * from a] btrace.By_query=5i", "[key=insert into b c] btrace.By_query=10i"});
}

TEST_CASE("btrace forms: distributions") {
  LineBench bench;
  const Lines lines{"Query Duration",
                    "  select",
                    "\t          value  ------------- Distribution ------------- count",
                    "\t             -1 |                                         0",
                    "\t              0 |@@@@@@@@@@@@                             3",
                    "\t              1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@             7",
                    "  update",
                    "\t          value  ------------- Distribution ------------- count",
                    "\t           1024 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 2",
                    "count = 5"};
  const Lines expected{"[key=select bucket=-1] btrace.Query_Duration=0i", "[key=select bucket=0] btrace.Query_Duration=3i",
                       "[key=select bucket=1] btrace.Query_Duration=7i", "[key=update bucket=1024] btrace.Query_Duration=2i",
                       "btrace.count=5i"};
  CHECK(bench.read(lines) == expected);
  // Cut by a restart at any line, it is the same.
  for (size_t cut = 0; cut <= lines.size(); ++cut) {
    LineBench again;
    Lines got = again.read({lines.begin(), lines.begin() + static_cast<ptrdiff_t>(cut)});
    again.restart(again.reader->state({{.id = {1, 1}}}));
    for (std::string &line : again.read({lines.begin() + static_cast<ptrdiff_t>(cut), lines.end()})) got.push_back(std::move(line));
    CHECK_MESSAGE(got == expected, "cut at " << cut);
  }
  // The state of a deleted file is removed.
  bench.read({"Heading"});
  CHECK(bench.reader->state({{.id = {1, 1}}}).size() == 1);
  CHECK(bench.reader->state({{.id = {1, 2}}}).empty());
}

TEST_CASE("btrace forms: files do not disturb each other") {
  LineBench bench;
  CHECK(bench.read({"MapOfOne"}, {1, 1}).empty());
  CHECK(bench.read({"a = 1"}, {1, 2}) == Lines{"btrace.a=1i"});
  CHECK(bench.read({"a = 2"}, {1, 1}) == Lines{"[key=a] btrace.MapOfOne=2i"});
}

TEST_CASE("btrace forms: a snapshot of the profiler") {
  LineBench bench;
  CHECK(
      bench.read({"Block                Invocations  SelfTime.Total  SelfTime.Avg  SelfTime.Min  SelfTime.Max  WallTime.Total  "
                  "WallTime.Avg  WallTime.Min  WallTime.Max",
                  "my.Class.call(int)             3            3000          1000           900          1200            6000      "
                  "    2000           1800           2300",
                  "idle                           0             N/A           N/A           N/A           N/A             N/A      "
                  "     N/A            N/A            N/A",
                  "x = 1"}) ==
      Lines{"[name=my.Class.call(int)] btrace.profile.invocations=3i btrace.profile.self.total=3000i btrace.profile.self.avg=1000i "
            "btrace.profile.self.min=900i btrace.profile.self.max=1200i btrace.profile.wall.total=6000i "
            "btrace.profile.wall.avg=2000i "
            "btrace.profile.wall.min=1800i btrace.profile.wall.max=2300i",
            "[name=idle] btrace.profile.invocations=0i", "btrace.x=1i"});
}

TEST_CASE("btrace forms: a snapshot with a name has indented rows") {
  LineBench bench;
  const std::string columns = "  Block  Invocations  SelfTime.Total  SelfTime.Avg  SelfTime.Min  SelfTime.Max";
  CHECK(bench.read({"My snapshot", columns + "  WallTime.Total  WallTime.Avg  WallTime.Min  WallTime.Max",
                    "  a b  3  3000  1000  900  1200  6000  2000  1800  2300", "By query", "  select  5"}) ==
        Lines{"[name=a b] btrace.profile.invocations=3i btrace.profile.self.total=3000i btrace.profile.self.avg=1000i "
              "btrace.profile.self.min=900i btrace.profile.self.max=1200i btrace.profile.wall.total=6000i "
              "btrace.profile.wall.avg=2000i btrace.profile.wall.min=1800i btrace.profile.wall.max=2300i",
              "[key=select] btrace.By_query=5i"});
  CHECK(bench.counts().forms.plain == 0);
}

TEST_CASE("btrace forms: the commands of BTrace 2.2.6 as it prints them") {
  std::istringstream file(protocols::testing::fixture("btrace/commands.txt"));
  Lines lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  LineBench bench;
  Lines read = bench.read(lines);
  REQUIRE(read.size() == 27);
  CHECK(read[7].starts_with("@"));
  read[7].erase(0, read[7].find(' ') + 1);  // its clock is that of the JVM's time zone
  const auto block = [](const std::string &name, const std::string &numbers) {
    std::string out = "[name=" + name + "]";
    std::istringstream values(numbers);
    for (const char *column :
         {"invocations", "self.total", "self.avg", "self.min", "self.max", "wall.total", "wall.avg", "wall.min", "wall.max"}) {
      std::string value;
      values >> value;
      out += std::string(" btrace.profile.") + column + "=" + value + "i";
    }
    return out;
  };
  Lines expected{"btrace.requests=5i",
                 "btrace.ratio=0.25",
                 "btrace.big=9223372036854775807i",
                 "btrace.large=10000000000",
                 "[key=int[]] btrace.ByClass=2i",
                 "[key=a b] btrace.ByClass=0.5",
                 "[key=java.lang.String] btrace.ByClass=7i",
                 "btrace.started=3i",
                 "btrace.Calls=12i",
                 "[key=select * from a] btrace.By_query=5i",
                 "[key=insert into b] btrace.By_query=10i"};
  for (const auto &[bucket, count] : std::initializer_list<std::pair<int, int>>{
           {-1, 0}, {0, 1}, {1, 2}, {2, 0}, {4, 1}, {8, 0}, {16, 0}, {32, 0}, {64, 0}, {128, 0}, {256, 0}, {512, 1}, {1024, 0}})
    expected.push_back("[key=select bucket=" + std::to_string(bucket) + "] btrace.Query_Duration=" + std::to_string(count) + "i");
  expected.push_back(block("my.Class.call(int)", "2 3500 1750 1500 2000 4500 2250 1500 3000"));
  expected.push_back(block("my.Class.inner", "1 1000 1000 1000 1000 1000 1000 1000 1000"));
  expected.push_back("btrace.after=1i");
  CHECK(read == expected);
  CHECK(bench.counts().forms.errors == 1);
  CHECK(bench.counts().forms.plain == 0);
}

TEST_CASE("btrace forms: errors, dropped lines and overflowed buffers are counted") {
  LineBench bench;
  CHECK(bench.read({"! ERROR", "java.lang.NullPointerException: x = 5", "\tat a.B.c(B.java:3)", "Caused by: java.lang.Error",
                    "\t... 3 more", "requests = 5", "Dropped 17 commands", "Dropped 3 commands", "speculative buffer overflow: 4",
                    "Dropped many commands"}) == Lines{"btrace.requests=5i"});
  CHECK(bench.counts().forms.errors == 1);
  CHECK(bench.counts().forms.dropped == 20);
  CHECK(bench.counts().forms.overflows == 1);
  LineBench off({.forms = false});
  CHECK(off.read({"requests = 5", "! ERROR"}).empty());
  CHECK(off.counts().plain == 2);
}

}  // namespace atalaya::testing
