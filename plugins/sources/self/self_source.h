// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <cstdint>
#include <optional>
#include <vector>

#include "plugins/shared/io/samples/identity.h"
#include "plugins/sources/self/reader.h"
#include "plugins/sources/self/self_metrics.h"
#include "plugins/sources/self/step_report.h"

namespace atalaya::self {

// Emits the agent's own resource usage and its ledger (the counts of samples per stage).
class SelfSource final : public Source {
 public:
  static constexpr Need kNeeds[] = {need::optional_file("/proc/self", "no memory, threads and open files of the agent")};
  static constexpr Description description = {
      .name = "self"_str, .summary = "Resource usage and ledger of the agent itself"_str, .metrics = kMetrics, .needs = kNeeds};

  explicit SelfSource(Host host);
  Code collect(const Window &window, Batch &batch) override;

 private:
  // The time spent in calls of a component, and the time at which it was read.
  struct Busy {
    int64_t busy_ns, at_ns;
  };
  struct Names {
    explicit Names(Host host);
    uint32_t cpu_user, cpu_system, resident, threads, files, voluntary, involuntary;
    uint32_t in, created, out, dropped, merged, drops, accepted, delivered, dead_letter, queued, queued_bytes;
    uint32_t gaps, errors, busy;
    uint32_t pipeline, component, reason;  // tags
  };

  void collect_process(bool baseline, int64_t now, Batch &batch);
  void collect_ledger(bool baseline, int64_t now, Batch &batch);
  void add_row(const atalaya_ledger_row &row, Batch &batch, Sample &sample);
  std::optional<double> busy_share(const atalaya_ledger_row &row, int64_t now);

  Host host_;
  Names names_;
  StepReport steps_;
  std::optional<Usage> usage_;  // usage at the last collection
  int64_t usage_at_ = 0;
  io::IdentityKey key_;
  io::IdentityTable parts_;
  std::vector<Busy> busy_;  // previous readings, indexed by parts_
};

}  // namespace atalaya::self
