// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/receive/sample_builder.h"
#include "tests/unit/filters/stages/fixture.h"

namespace atalaya::testing {
namespace {

// Puts two requests into one batch; of the second nothing stays.
class Built final : public Source {
 public:
  static constexpr Description description = {.name = "built"_str, .summary = "for this test"_str};
  static inline std::string first, second;
  static inline size_t max_names = 100;
  static inline protocols::Account account;

  explicit Built(Host host) : builder_(host, max_names) {}
  Code collect(const Window &, Batch &batch) override {
    builder_.begin_batch(batch.raw());
    builder_.begin_request();
    account = read(first);
    builder_.begin_request();
    if (!read(second).fatal.empty()) builder_.undo_request();
    return Code::ok;
  }

 private:
  protocols::Account read(std::string body) {
    body.reserve(body.size() + protocols::DocumentReader::kPadding);
    return reader_.read_put(body, {true, true}, builder_);
  }
  receive::SampleBuilder builder_;
  protocols::JsonReader reader_;
};

std::string point(const std::string &metric, const std::string &tags, const std::string &value, int64_t time = 1) {
  return R"({"metric":")" + metric + R"(","timestamp":)" + std::to_string(time) + R"(,"value":)" + value + R"(,"tags":{)" + tags +
         "}}";
}

}  // namespace

TEST_CASE("receive: points of one request with the same tags and time are one sample") {
  const std::string a = R"("host":"h","pid":"1")", b = R"("host":"h","pid":"2")";
  Built::max_names = 100;
  Built::first = "[" + point("x", a, "1") + "," + point("x", b, "2") + "," + point("y", a, "1.5") + "," + point("x", a, "3", 2) +
                 "," + point("y", b, "4") + "," + point("x", a, "7") + "]";
  Built::second = "[" + point("x", a, "9") + ",";
  Bench<Built> bench;
  REQUIRE(bench.collect(window_at()).ok());
  // The same series at the same time twice: the last one won. The part of the broken request is gone.
  CHECK(bench.lines() == std::vector<std::string>{"host=h pid=1 | x=7i y=1.5", "host=h pid=2 | x=2i y=4i", "host=h pid=1 | x=3i"});
}

TEST_CASE("receive: ten thousand entities of one request stay apart") {
  Built::max_names = 100;
  Built::first = "[";
  for (int metric = 0; metric < 2; ++metric)
    for (int pid = 0; pid < 10000; ++pid)
      Built::first += (Built::first.size() > 1 ? "," : "") +
                      point(metric == 0 ? "x" : "y", R"("pid":")" + std::to_string(pid) + "\"", std::to_string(pid));
  Built::first += "]";
  Built::second = "";
  Bench<Built> bench;
  REQUIRE(bench.collect(window_at()).ok());
  CHECK(Built::account.good == 20000);
  REQUIRE(bench.batch.count() == 10000);
  CHECK(bench.lines()[9999] == "pid=9999 | x=9999i y=9999i");
}

TEST_CASE("receive: names beyond the limit are refused, the known ones continue") {
  Built::max_names = 3;
  const std::string tags = R"("host":"h")";
  Built::first =
      "[" + point("a", tags, "1") + "," + point("b", tags, "1") + "," + point("c", tags, "1") + "," + point("a", tags, "2") + "]";
  Built::second = "";
  Bench<Built> bench;
  REQUIRE(bench.collect(window_at()).ok());
  CHECK(bench.lines() == std::vector<std::string>{"host=h | a=2i b=1i"});
  CHECK(Built::account.failed == 1);
}

TEST_CASE("receive: the size of names is limited, of each and of all") {
  Built::max_names = 100'000;
  Built::first = "[";
  const int points = 20'000, size = 1000;
  for (int i = 0; i < points; ++i)
    Built::first += (i > 0 ? "," : "") + point(std::string(size - 5, 'n') + std::to_string(10'000 + i), R"("host":"h")", "1");
  Built::first += "," + point(std::string(1025, 'x'), R"("host":"h")", "1") + "]";
  Built::second = "";
  Bench<Built> bench;
  REQUIRE(bench.collect(window_at()).ok());
  CHECK(Built::account.good == (16 << 20) / size + 1);
  CHECK(Built::account.failed == points + 1 - Built::account.good);
}

}  // namespace atalaya::testing
