// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/protocols/btrace/line_bench.h"

namespace atalaya::testing {
namespace {

std::string at(int64_t seconds) {
  return std::to_string(1'700'000'000 + seconds);
}
std::string span(const std::string &level, int64_t begin, int64_t length, const std::string &rest) {
  return "span " + level + " " + at(begin) + "000000000+" + std::to_string(length * kSecond) + (rest.empty() ? "" : " " + rest);
}

}  // namespace

TEST_CASE("spans: of equal begins the first one ends first, unless seq selects another") {
  LineBench bench;
  CHECK(bench.read({"atalaya begin region name=r time=" + at(1), "atalaya begin region name=r time=" + at(2),
                    "atalaya end region name=r time=" + at(3), "atalaya end region name=r time=" + at(7)}) ==
        Lines{span("region", 1, 2, "[name=r]"), span("region", 2, 5, "[name=r]")});
  CHECK(bench.read({"atalaya begin region name=r seq=1 time=" + at(1), "atalaya begin region name=r seq=2 time=" + at(2),
                    "atalaya end region name=r seq=2 time=" + at(3), "atalaya end region name=r seq=1 time=" + at(7)}) ==
        Lines{span("region", 2, 1, "[name=r]"), span("region", 1, 6, "[name=r]")});
}

TEST_CASE("spans: the tags of the begin count, and the fields of both") {
  LineBench bench;
  CHECK(bench.read({"atalaya begin task task=t host=n1 locality=rack bytes=1 records=2 time=" + at(0),
                    "atalaya end task task=t host=n2 source=disk bytes=9 time=" + at(1)}) ==
        Lines{span("task", 0, 1, "[task=t host=n1 locality=rack] span.bytes=9i span.records=2i")});
}

TEST_CASE("spans: ends without a begin and before it are counted and emit nothing") {
  LineBench bench;
  CHECK(bench
            .read({"atalaya end task task=a time=" + at(1), "atalaya begin task task=b time=" + at(2),
                   "atalaya end task task=b time=" + at(1), "atalaya end phase task=b time=" + at(3),
                   "atalaya span task task=c start=" + at(2) + " end=" + at(1)})
            .empty());
  CHECK(bench.reader->spans().counts().orphans == 2);
  CHECK(bench.reader->spans().counts().backwards == 2);
  CHECK(bench.reader->spans().open() == 0);
}

TEST_CASE("spans: an end that lacks a key of its begin, or has one more, is logged once") {
  LineBench bench;
  const std::string first = "atalaya end job job=etl time=" + at(2);
  CHECK(
      bench
          .read({"atalaya begin job job=etl name=etl time=" + at(1), first, "atalaya begin phase task=t phase=spill time=" + at(3),
                 "atalaya end phase task=t phase=spill attempt=1 time=" + at(4)})
          .empty());
  REQUIRE(bench.said.size() == 1);
  CHECK(bench.said[0].starts_with("line \"" + first +
                                  "\": no span, because its begin was not read. "
                                  "The end must have the same job, stage, task, attempt, "));
  CHECK(bench.reader->spans().counts().orphans == 2);
  CHECK(bench.reader->spans().open() == 2);
}

TEST_CASE("spans: open spans are reported on request, and the oldest is given up beyond the limit") {
  LineBench bench({.report_open = true, .max_open = 2});
  CHECK(bench.read({"atalaya begin task task=a time=" + at(1), "atalaya begin task task=b time=" + at(2),
                    "atalaya begin task task=c time=" + at(3)}) ==
        Lines{"span task " + at(1) + "000000000+open [task=a]", "span task " + at(2) + "000000000+open [task=b]",
              "span task " + at(3) + "000000000+open [task=c]", span("task", 1, 2, "[task=a] span.given_up=1i")});
  CHECK(bench.reader->spans().counts().evicted == 1);
  CHECK(bench.said == Lines{"more than max_open = 2 spans, or 32 MiB of them, are open; giving up the oldest"});
  CHECK(bench.read({"atalaya end task task=a time=" + at(4), "atalaya end task task=c time=" + at(5)}) ==
        Lines{span("task", 3, 2, "[task=c]")});
  // One whose end cannot be is not left open either.
  CHECK(bench.read({"atalaya end task task=b time=" + at(1)}) == Lines{span("task", 2, 0, "[task=b] span.given_up=1i")});
}

TEST_CASE("spans: open ones are bounded in bytes, so that their saved state can be read back") {
  LineBench bench({.max_open = 1'000'000, .max_open_bytes = 100'000});
  for (int i = 0; i < 100; ++i)
    bench.read({"atalaya begin task task=" + std::to_string(i) + std::string(5000, 'x') + "%20 time=" + at(i)});
  const Lines state = bench.reader->state({});
  CHECK(tail::journal_text({.own = state}).size() <= 100'000 + 100);
  CHECK(bench.reader->spans().open() == 19);
  CHECK(bench.reader->spans().counts().evicted == 81);
  bench.restart(state);
  CHECK(bench.reader->spans().open() == 19);
}

TEST_CASE("spans: a begin whose end does not come is given up, counted from when it was read") {
  LineBench bench({.report_open = true, .max_age_ns = 100 * kSecond});
  const int64_t read = kNow;
  bench.read({"atalaya begin task task=old time=" + at(-1'000'000), "atalaya begin task task=b time=" + at(1)});
  CHECK(bench.expire(read + 100 * kSecond).empty());
  bench.read({"atalaya begin task task=later time=" + at(2)}, {1, 1}, read + 50 * kSecond);
  bench.restart(bench.reader->state({}));
  CHECK(bench.expire(read + 100 * kSecond).empty());
  CHECK(bench.expire(read + 101 * kSecond, 1) == Lines{span("task", -1'000'000, 1'000'101, "[task=old] span.given_up=1i")});
  CHECK(bench.expire(read + 101 * kSecond) == Lines{span("task", 1, 100, "[task=b] span.given_up=1i")});
  CHECK(bench.reader->spans().open() == 1);
  CHECK(bench.reader->spans().counts().expired == 2);
  CHECK(bench.reader->state({}).size() == 1);
  // A late end has no begin any more; the other spans continue.
  CHECK(bench.read({"atalaya end task task=b time=" + at(102), "atalaya end task task=later time=" + at(102)}) ==
        Lines{span("task", 2, 100, "[task=later]")});
  CHECK(bench.reader->spans().counts().orphans == 1);
}

TEST_CASE("spans: a begin waits from its reading on, independent of the time in its line") {
  LineBench bench({.max_age_ns = 100 * kSecond});
  // One of them is hours before or behind now, wherever that is.
  bench.read({"00:00:00:000 : atalaya begin task task=a", "12:00:00:000 : atalaya begin task task=b"});
  bench.expire(kNow + 100 * kSecond);
  CHECK(bench.reader->spans().open() == 2);
  bench.expire(kNow + 101 * kSecond);
  CHECK(bench.reader->spans().open() == 0);
}

TEST_CASE("spans: begins that were read before the clock was set back wait no longer than others") {
  LineBench bench({.max_age_ns = 100 * kSecond});
  bench.read({"atalaya begin task task=a time=" + at(1), "atalaya begin task task=b time=" + at(1)}, {1, 1},
             kNow + 1'000'000 * kSecond);
  CHECK(bench.expire(kNow).empty());
  CHECK(bench.reader->spans().open() == 2);
  CHECK(bench.expire(kNow + 101 * kSecond).empty());  // none was reported open
  CHECK(bench.reader->spans().open() == 0);
  CHECK(bench.reader->spans().counts().expired == 2);
}

TEST_CASE("spans: an inode may have all 64 bits") {
  const tail::FileId file{~uint64_t{0}, ~uint64_t{0} - 1};
  LineBench bench;
  bench.read({"heading"}, file);
  const Lines state = bench.reader->state({{file, "/x", 0, 0, false, {}, {}}});
  REQUIRE(state.size() == 1);
  bench.restart(state);
  CHECK(bench.reader->state({{file, "/x", 0, 0, false, {}, {}}}) == state);
}

TEST_CASE("spans: open ones survive a restart") {
  LineBench bench;
  bench.read({"atalaya begin task task=a%20b name=%ff host=h bytes=5 time=" + at(1),
              "atalaya begin region name=r seq=7 counter.a.b=0.1 time=" + at(2),
              "atalaya begin region name=r seq=7 time=" + at(3)});
  bench.restart(bench.reader->state({}));
  CHECK(bench.reader->spans().open() == 3);
  CHECK(bench.read({"atalaya end task task=a%20b name=%ff time=" + at(4), "atalaya end region name=r seq=7 time=" + at(4),
                    "atalaya end region name=r seq=7 time=" + at(4)}) ==
        Lines{span("task", 1, 3, "[task=a b name=\xff host=h] span.bytes=5i"), span("region", 2, 2, "[name=r] counter.a.b=0.1"),
              span("region", 3, 1, "[name=r]")});
}

TEST_CASE("spans: a state that is none is refused") {
  for (const char *line :
       {"open", "open task", "open task  1 0", "open nothing x 1 2 0", "open task  1 2 1", "open task  x 2 0", "open task  1 x 0",
        "open task  1 2 -1", "open task  1 2 99999999999 a b", "open task  1 2 0 name i", "open task  1 2 0 name x 5",
        "open task %4 1 2 0", "form", "form 1 2", "form 1 x 0 a b", "form 1 2 9 a b", "else"}) {
    btrace::LineReader reader({}, {}, [](const std::string &) {});
    CHECK_MESSAGE(!reader.restore({line}).ok(), line);
  }
}

}  // namespace atalaya::testing
