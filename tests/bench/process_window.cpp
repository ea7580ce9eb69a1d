// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/process_window.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace atalaya::bench {
namespace {

struct Metric {
  const char *name;
  double maximum;  // of a busy process
  int decimals;    // -1: a count
  bool rate;       // 0 in an idle process
};
constexpr Metric kMetrics[] = {
    {"proc.cpu.user", 100, 2, true},
    {"proc.cpu.kernel", 20, 2, true},
    {"proc.cpu.delay", 10, 2, true},
    {"proc.disk.reads.mb", 50, 3, true},
    {"proc.disk.writes.mb", 50, 3, true},
    {"proc.io.reads.bytes", 5e7, 0, true},
    {"proc.io.writes.bytes", 5e7, 0, true},
    {"proc.faults.minor", 2000, 2, true},
    {"proc.faults.major", 5, 2, true},
    {"proc.switches.voluntary", 500, 2, true},
    {"proc.switches.involuntary", 90, 2, true},
    {"proc.mem.resident", 900, 2, false},
    {"proc.mem.virtual", 9000, 2, false},
    {"proc.threads", 60, -1, false},
    {"proc.files.open", 200, -1, false},
};
static_assert(kPoints == kProcesses * std::size(kMetrics));

double drawn(std::minstd_rand &random, const Metric &metric) {
  const double value = std::uniform_real_distribution<double>(0, metric.maximum)(random);
  const double power = std::pow(10, std::max(metric.decimals, 0));
  return std::round(value * power) / power;
}

}  // namespace

void fill_window(core::Batch &batch, core::Symbols &symbols, size_t busy, int64_t window, std::minstd_rand &random) {
  static constexpr const char *kNames[] = {"java", "postgres", "nginx", "kworker/0:1", "python3", "sshd", "GC Thread#0", "systemd"};
  const uint32_t host = symbols.intern("host");
  const uint32_t pid = symbols.intern("pid");
  const uint32_t process = symbols.intern("process");
  batch.clear();
  for (size_t i = 0; i < kProcesses; ++i) {
    atalaya_sample &sample = batch.add_sample(ATALAYA_METRICS);
    sample.time_ns = (1'795'219'532 + window) * 1'000'000'000;
    sample.duration_ns = 1'000'000'000;
    batch.add_tag(sample, host, "node-17");
    batch.add_tag(sample, pid, std::to_string(1000 + i * 7));
    batch.add_tag(sample, process, kNames[i % std::size(kNames)]);
    std::minstd_rand constant(static_cast<unsigned>(i + 1));  // an idle process keeps its sizes
    for (const Metric &metric : kMetrics) {
      const double kept = drawn(constant, metric);
      const double value = i < busy ? drawn(random, metric) : metric.rate ? 0 : kept;
      atalaya_field field{symbols.intern(metric.name), metric.decimals < 0 ? uint32_t{ATALAYA_I64} : uint32_t{ATALAYA_F64}, {}};
      if (metric.decimals < 0) {
        field.value.i64 = static_cast<int64_t>(value);
      } else {
        field.value.f64 = value;
      }
      batch.add_field(sample, field);
    }
  }
}

}  // namespace atalaya::bench
