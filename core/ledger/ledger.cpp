// SPDX-License-Identifier: Apache-2.0
#include "core/ledger/ledger.h"

namespace atalaya::core {

int64_t LedgerRow::imbalance() const {
  if (type == RowType::sink) return counts.in - counts.out - counts.dropped - counts.dead_letter - counts.queued;
  return counts.in + counts.created - counts.out - counts.dropped - counts.merged;
}

LedgerRow &Ledger::row(RowType type, std::string_view pipeline, std::string_view component) {
  const std::lock_guard lock(mutex_);
  for (LedgerRow &row : rows_)
    if (row.type == type && row.pipeline == pipeline && row.component == component) return row;
  LedgerRow &made = rows_.emplace_back();
  made.type = type;
  made.pipeline = pipeline;
  made.component = component;
  return made;
}

LedgerRow *Ledger::row_with_spool(uint64_t spool, std::string_view pipeline) {
  for (LedgerRow &row : rows_)
    if (row.spool == spool && row.pipeline == pipeline) return &row;
  return nullptr;
}

std::vector<LedgerRow> Ledger::snapshot() const {
  const std::lock_guard lock(mutex_);
  return {rows_.begin(), rows_.end()};
}

void count_dropped(LedgerRow &row, std::string_view reason, int64_t samples) {
  if (samples == 0) return;
  row.counts.dropped += samples;
  const auto found = row.reasons.find(reason);
  if (found != row.reasons.end()) {
    found->second += samples;
  } else {
    row.reasons.emplace(reason, samples);
  }
}

}  // namespace atalaya::core
