// SPDX-License-Identifier: Apache-2.0
// Packing a window holds a part of its samples, and a size for each of its entities.
#include <doctest/doctest.h>
#include <malloc.h>

#include <algorithm>
#include <string>

#include "tests/unit/store/engines/fixture.h"

namespace atalaya::store::test {
namespace {

constexpr int64_t kTime = kNow - kNow % kHour + kSecond;

// The bytes that packing a window with this number of entities needs at most, between its steps.
size_t bytes_to_pack(int entities, int metrics) {
  TestStore store;
  Writer writer = store.writer();
  for (int first = 0; first < entities; first += 1000) {
    auto samples = store.samples();
    for (int i = first; i < first + 1000; ++i) {
      samples.metrics(kTime, {{"job", std::to_string(i)}}).real("x", 1);
      for (int metric = 1; metric < metrics; ++metric) samples.real("y" + std::to_string(metric), 1);
    }
    writer.write(samples.span(), kNow);
  }
  for (int i = 0; i < 40; ++i) writer.write({}, kNow);
  const auto used = [] {
    const auto all = mallinfo2();
    return all.uordblks + all.hblkhd;
  };
  const size_t before = used();
  size_t maximum = before;
  while (writer.maintain(kNow + 2 * kDay)) maximum = std::max(maximum, used());
  CHECK(store.row_count() == 0);
  CHECK(store.scan("x", "job", std::to_string(entities - 1)).size() == 1);
  return maximum - before;
}

TEST_CASE("a window of many entities is packed in parts") {
  const size_t wide = bytes_to_pack(150'000, 1);
  CAPTURE(wide);
  CHECK(wide < size_t{32} << 20);
  const size_t full = bytes_to_pack(20'000, 30);
  CAPTURE(full);
  CHECK(full < size_t{8} << 20);
}

}  // namespace
}  // namespace atalaya::store::test
