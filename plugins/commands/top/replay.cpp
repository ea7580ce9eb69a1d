// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/top/replay.h"

#include <algorithm>
#include <utility>

#include "core/base/now.h"
#include "plugins/shared/io/time/time_text.h"
#include "plugins/shared/store/lookup.h"
#include "plugins/shared/store/query/usage.h"

namespace atalaya::top {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kFirstReach = 120 * kSecond, kReach = 86'400 * kSecond;
constexpr size_t kSeries = 500;  // maximum series in which the last window is searched

const std::vector<std::string> kShown = {"proc.cpu.user",       "proc.cpu.kernel",    "proc.mem.resident",  "proc.disk.reads.mb",
                                         "proc.disk.writes.mb", "proc.net.tcp.in.mb", "proc.net.udp.in.mb", "proc.net.tcp.out.mb",
                                         "proc.net.udp.out.mb", "proc.threads"};

// The newest point. The length is that of the shortest window that ends then, because merged windows of idle processes are longer.
class Newest final : public store::PointVisitor {
 public:
  void points(size_t, const store::Points &points) override {
    for (size_t i = 0; i < points.times_ns.size(); ++i) {
      const int64_t time = points.times_ns[i], length = points.durations_ns[i];
      if (length <= 0 || time < time_ns || (time == time_ns && length >= length_ns)) continue;
      time_ns = time;
      length_ns = length;
    }
  }
  int64_t time_ns = 0, length_ns = 0;
};

using store::tag_of;

}  // namespace

Replay::Replay(const command_line::ReadOptions &options, std::vector<store::TagFilter> tags)
    : options_(options), tags_(std::move(tags)), now_ns_(core::realtime()) {}

Replay::WindowEnd Replay::last_before(int64_t time_ns, int64_t reach_ns) {
  command_line::Reading reading(options_);
  const store::Range range{time_ns - reach_ns, time_ns};
  const auto series = reading.store->series({{"proc.cpu.user"}, tags_, range}, kSeries);
  Newest newest;
  reading.store->scan(series, range, newest);
  return {newest.time_ns, newest.length_ns};
}

Window Replay::read(const WindowEnd &place) {
  command_line::Reading reading(options_);
  RowBuilder builder;
  const query::Range range{place.time_ns - place.length_ns, place.time_ns};
  for (const std::string &metric : kShown) {
    try {
      for (const query::Usage &usage :
           query::usage_of({metric}, tags_, {"host", "pid", "process", "container"}, range, *reading.store, reading.budget)) {
        const Row identity{tag_of(usage.tags, "host"),
                           tag_of(usage.tags, "pid"),
                           tag_of(usage.tags, "process"),
                           tag_of(usage.tags, "container"),
                           {}};
        builder.add(metric, usage.average, identity);
      }
    } catch (const query::UnknownMetric &) {  // the metric is not collected
    }
  }
  return {place.time_ns, place.length_ns, builder.take()};
}

Window Replay::at(int64_t time_ns) {
  WindowEnd place = last_before(time_ns, kFirstReach);
  if (place.length_ns == 0) place = last_before(time_ns, kReach);
  if (place.length_ns == 0)
    throw query::Wrong("the store has no window of a process in the day before " + io::time_text(time_ns) +
                       "; pipelines/host.lua collects them");
  return read(place);
}

Window Replay::step(const Window &window, bool forward) {
  WindowEnd place;
  if (forward) {
    // The first window after this one: searched within a few lengths, then within a day.
    for (int64_t reach = window.length_ns; place.length_ns == 0 && reach < kReach; reach *= 4)
      if (const WindowEnd found = last_before(window.time_ns + reach, reach); found.time_ns > window.time_ns) place = found;
  } else {
    place = last_before(window.time_ns - window.length_ns, kFirstReach);
    if (place.length_ns == 0) place = last_before(window.time_ns - window.length_ns, kReach);
  }
  return place.length_ns == 0 ? window : read(place);
}

}  // namespace atalaya::top
