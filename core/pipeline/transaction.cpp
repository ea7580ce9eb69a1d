// SPDX-License-Identifier: Apache-2.0
#include "core/pipeline/transaction.h"

namespace atalaya::core {

void Transaction::dropped(LedgerRow &row, std::string_view reason, int64_t samples) {
  if (samples == 0) return;
  Change &change = changes_.emplace_back(Change{&row, {}, std::string(reason)});
  change.counts.dropped = samples;
}

void Transaction::commit(Ledger &ledger) {
  {
    const std::lock_guard lock(ledger.mutex());
    for (const Change &change : changes_) {
      Counts &to = change.row->counts;
      to.in += change.counts.in;
      to.created += change.counts.created;
      to.out += change.counts.out;
      to.merged += change.counts.merged;
      to.gaps += change.counts.gaps;
      to.errors += change.counts.errors;
      to.restarts += change.counts.restarts;
      to.busy_ns += change.counts.busy_ns;
      count_dropped(*change.row, change.reason, change.counts.dropped);
    }
    for (auto &[sink, delivery] : deliveries_) sink->push(std::move(delivery), released_);
  }
  for (auto &[sink, delivery] : deliveries_) sink->wake();
  changes_.clear();
  deliveries_.clear();
  released_.clear();
}

}  // namespace atalaya::core
