// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <thread>

#include "tests/unit/sinks/prometheus/fixture.h"

namespace atalaya::prometheus::testing {

TEST_CASE("prometheus: every scrape sees whole windows, while they are written and series come and go") {
  Bench bench;
  std::atomic<bool> done{false};
  std::atomic<int64_t> now{0};
  std::thread writer([&] {
    for (int64_t window = 0; window < 400; ++window) {
      // Windows of 40 processes, half of them new; all have the window's number for a value.
      for (int64_t pid = 0; pid < 40; ++pid)
        bench.metric({{"pid", std::to_string(pid < 20 ? pid : pid + window * 20)}}, "proc.x", static_cast<double>(window),
                     window * 5);
      bench.write(window * 5);
      now = window * 5;
    }
    done = true;
  });
  int scrapes = 0;
  bool whole = true;
  while (!done || scrapes == 0) {
    const std::string text = bench.scrape(now);
    ++scrapes;
    std::string value;
    int lines = 0;
    for (size_t at = text.find("} "); at != std::string::npos; at = text.find("} ", at + 1), ++lines) {
      const std::string one = text.substr(at, text.find('\n', at) - at);
      whole = whole && (value.empty() || value == one);
      value = one;
    }
    whole = whole && (lines == 40 || lines == 0);
  }
  writer.join();
  CHECK(whole);
  CHECK(bench.series(now).size() == 40);
}

}  // namespace atalaya::prometheus::testing
