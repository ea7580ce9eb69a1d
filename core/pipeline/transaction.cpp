// SPDX-License-Identifier: Apache-2.0
#include "core/pipeline/transaction.h"

namespace atalaya::core {

void Transaction::dropped(LedgerRow &row, std::string_view reason, int64_t samples) {
  if (samples == 0) return;
  Moved &moved = moved_.emplace_back(Moved{&row, {}, std::string(reason)});
  moved.counts.dropped = samples;
}

void Transaction::commit(Ledger &ledger) {
  {
    const std::lock_guard lock(ledger.mutex());
    for (const Moved &moved : moved_) {
      Counts &to = moved.row->counts;
      to.in += moved.counts.in;
      to.created += moved.counts.created;
      to.out += moved.counts.out;
      to.merged += moved.counts.merged;
      to.gaps += moved.counts.gaps;
      to.errors += moved.counts.errors;
      to.restarts += moved.counts.restarts;
      to.busy_ns += moved.counts.busy_ns;
      count_dropped(*moved.row, moved.reason, moved.counts.dropped);
    }
    for (auto &[sink, delivery] : deliveries_) sink->push(std::move(delivery), released_);
  }
  for (auto &[sink, delivery] : deliveries_) sink->wake();
  moved_.clear();
  deliveries_.clear();
  released_.clear();
}

}  // namespace atalaya::core
