// SPDX-License-Identifier: Apache-2.0
// Rules as an operator writes them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plugins/translators/alerts/alerts.h"
#include "tests/unit/filters/stages/fixture.h"

namespace atalaya::alerts::test {

using namespace atalaya::testing;
using Members = std::initializer_list<std::pair<std::string, core::Value>>;

inline core::Value rules(std::vector<core::Value> all, Members more = {}) {
  core::Value written = table(more);
  written.map.emplace_back("rules", list_of(std::move(all)));
  std::sort(written.map.begin(), written.map.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  return written;
}
inline core::Value rule(const std::string &name, const std::string &metric, Members more) {
  core::Value written = table(more);
  written.map.emplace_back("name", text(name));
  written.map.emplace_back("metric", text(metric));
  std::sort(written.map.begin(), written.map.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  return written;
}

// Collects all the time from its first window, also between the seconds of two calls.
class AlertsBench : public Bench<Alerts> {
 public:
  using Bench<Alerts>::Bench;
  std::vector<std::string> process(const std::vector<std::string> &in, int64_t second = 0) {
    atalaya_window window = window_at(second);
    if (last_) window.duration_ns = (second - *last_) * kSecond;
    last_ = second;
    return Bench<Alerts>::process(in, window);
  }
  // After time that was not collected: the first window has no length.
  std::vector<std::string> resume(const std::vector<std::string> &in, int64_t second) {
    atalaya_window window = window_at(second);
    window.flags = ATALAYA_WINDOW_BASELINE;
    window.duration_ns = 0;
    last_ = second;
    return Bench<Alerts>::process(in, window);
  }

 private:
  std::optional<int64_t> last_;
};

// An alert in the output: "high host=a 10..30 v=7", or "high host=a 10.. v=7" while it fires; in seconds since the first window.
inline std::vector<std::string> alerts_of(AlertsBench &bench) {
  std::vector<std::string> found;
  for (uint64_t i = 0; i < bench.batch.count(); ++i) {
    const atalaya_sample &sample = bench.batch.raw().samples[i];
    if (sample.kind != ATALAYA_SPAN) continue;
    std::string name, tags;
    for (uint32_t tag = 0; tag < sample.tag_count; ++tag) {
      const std::string key(bench.symbols.name(sample.tags[tag].key)), value(core::view_of(sample.tags[tag].value));
      if (key == "alert") name = value;
      if (key != "alert" && key != "severity" && key != "summary" && key != "advice") tags += " " + key + "=" + value;
    }
    std::string line = name + tags + " " + std::to_string((sample.time_ns - kWindowTime) / kSecond) + "..";
    if (sample.duration_ns >= 0) line += std::to_string((sample.time_ns + sample.duration_ns - kWindowTime) / kSecond);
    for (uint32_t field = 0; field < sample.field_count; ++field) {
      if (bench.symbols.name(sample.fields[field].name) != "alert.value") continue;
      char value[32];
      std::snprintf(value, sizeof value, " v=%g", sample.fields[field].value.f64);
      line += value;
    }
    found.push_back(line);
  }
  std::sort(found.begin(), found.end());
  return found;
}
// The alerts in the output of a window with these samples.
inline std::vector<std::string> step(AlertsBench &bench, int64_t second, const std::vector<std::string> &in) {
  bench.process(in, second);
  return alerts_of(bench);
}
inline std::vector<std::string> resume(AlertsBench &bench, int64_t second, const std::vector<std::string> &in) {
  bench.resume(in, second);
  return alerts_of(bench);
}

}  // namespace atalaya::alerts::test
