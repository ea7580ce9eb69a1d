// SPDX-License-Identifier: Apache-2.0
// The ledger: counts the outcome of every sample. Invariants at any time, under one lock:
//   source, stage:  in + created = out + dropped + merged
//   sink:           in = out + dropped + dead_letter + queued          (in = accepted, out = delivered)
// In a pipeline, the output of one row is the input of the next one. The counts of a window enter all its rows in one transaction.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::core {

enum class RowType { source = 1, stage = 2, sink = 3 };

// Counts of samples, unless the name has another unit.
struct Counts {
  int64_t in = 0, created = 0, out = 0, dropped = 0, merged = 0, dead_letter = 0;
  int64_t queued = 0, queued_bytes = 0;  // samples in memory, in flight and in the spool; bytes of memory
  int64_t spooled = 0;                   // the queued samples that are in the spool
  int64_t gaps = 0;                      // windows that a source skipped
  int64_t errors = 0;                    // calls that failed
  int64_t restarts = 0;                  // restarts of the process of an isolated component
  int64_t busy_ns = 0;                   // time in calls of the component
};

struct LedgerRow {
  RowType type = RowType::stage;
  std::string pipeline, component;  // component: "1 source proc", "3 filter value", "sink sqlite"
  Counts counts;
  uint64_t spool = 0;                                   // id of the spool whose counters are included
  std::map<std::string, int64_t, std::less<>> reasons;  // dropped samples by reason

  // Missing (positive) or surplus samples; 0 = balanced.
  int64_t imbalance() const;
};

class Ledger {
 public:
  // Guards all rows and the queues of the sinks, so that no sample is counted twice. Locked once per batch, never per sample.
  std::mutex &mutex() { return mutex_; }

  // The row of a component, created on first use. Its address does not change. After a reload, the new component continues the
  // row.
  LedgerRow &row(RowType type, std::string_view pipeline, std::string_view component);

  // The row with the counters of this spool for the pipeline, or null. Call it with the mutex locked.
  LedgerRow *row_with_spool(uint64_t spool, std::string_view pipeline);

  // A consistent copy of all rows, in the order of their creation.
  std::vector<LedgerRow> snapshot() const;

 private:
  mutable std::mutex mutex_;
  std::deque<LedgerRow> rows_;
};

// Call it with the ledger's mutex locked.
void count_dropped(LedgerRow &row, std::string_view reason, int64_t samples);

}  // namespace atalaya::core
