// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/extent.h"

#include <vector>

namespace atalaya::serve {
namespace {

constexpr int64_t kExtentStep = 1'000'000'000;  // resolution, in ns

constexpr int64_t kExtentMinutes = 90;    // that are searched for the last point
constexpr size_t kExtentSeries = 20'000;  // that are read for it

// The first second in (low, high] for which the condition holds, which it then does for all later ones. It holds for `high`.
template <class Condition>
int64_t first_second(int64_t low, int64_t high, Condition &&holds) {
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

struct PointFound {};  // ends a scan early

class AnyPoint final : public store::PointVisitor {
 public:
  bool take(size_t, const store::Summary &) override { throw PointFound(); }
  void points(size_t, const store::Points &points) override {
    if (!points.times_ns.empty()) throw PointFound();
  }
};

bool has_point(store::Store &store, const store::Range &range) {
  const std::vector<store::Series> series = store.series({{}, {}, range}, kExtentSeries);
  AnyPoint visitor;
  try {
    store.scan(series, range, visitor);
  } catch (const PointFound &) {
    return true;
  }
  return false;
}

}  // namespace

std::optional<store::Range> extent_of(store::Store &store, int64_t until_ns) {
  const int64_t until = until_ns / kExtentStep + 1;
  const auto has_some = [&store](int64_t from, int64_t to) {
    return !store.series({{}, {}, {from * kExtentStep, to * kExtentStep}}, 1).empty();
  };
  if (!has_some(0, until)) return std::nullopt;
  const int64_t first = first_second(0, until, [&](int64_t second) { return has_some(0, second); });
  const int64_t last = first_second(first - 1, until, [&](int64_t second) { return !has_some(second, until); });
  // A series may count as present for some time after its last point.
  int64_t minutes = 0;
  while (minutes < kExtentMinutes && !has_point(store, {(last - 60 * (minutes + 1)) * kExtentStep, last * kExtentStep})) ++minutes;
  const int64_t end = minutes < kExtentMinutes ? last - 60 * minutes : last;
  return store::Range{(first - 1) * kExtentStep, end * kExtentStep};
}

}  // namespace atalaya::serve
