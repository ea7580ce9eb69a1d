// SPDX-License-Identifier: Apache-2.0
#include "core/ledger/counting.h"

#include "core/base/files.h"

namespace atalaya::core {
namespace {

atalaya_str str_of(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

void CountingSurroundings::count(int32_t what, std::string_view reason, uint64_t samples) {
  const auto n = static_cast<int64_t>(samples);
  const std::lock_guard lock(mutex_);
  if (what == ATALAYA_COUNT_MERGED) tally_.merged += n;
  if (what == ATALAYA_COUNT_CREATED) tally_.created += n;
  if (what == ATALAYA_COUNT_DEAD_LETTER) tally_.dead_letter += n;
  if (what != ATALAYA_COUNT_DROPPED) return;
  tally_.dropped += n;
  for (auto &[known, count] : tally_.reasons) {
    if (known == reason) {
      count += n;
      return;
    }
  }
  tally_.reasons.emplace_back(reason, n);
}

Tally CountingSurroundings::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(tally_, {});
}

std::optional<std::string> CountingSurroundings::state_dir() {
  if (const Status made = make_folders(state_dir_); !made) {
    log(LogLevel::warning, made.error());
    return std::nullopt;
  }
  return state_dir_;
}

bool CountingSurroundings::ledger(uint64_t row, atalaya_ledger_row &out) {
  if (row == 0) {
    snapshot_ = ledger_.snapshot();
    rows_.clear();
    for (size_t i = 0; i < snapshot_.size(); ++i) {
      rows_.emplace_back(i, std::string_view{});
      for (const auto &[reason, count] : snapshot_[i].reasons) rows_.emplace_back(i, reason);
    }
  }
  if (row >= rows_.size()) return false;
  const auto &[index, reason] = rows_[row];
  const LedgerRow &from = snapshot_[index];
  out.type = static_cast<uint32_t>(from.type);
  out.pipeline = str_of(from.pipeline);
  out.component = str_of(from.component);
  if (!reason.empty()) {
    out.type = ATALAYA_ROW_DROP;
    out.reason = str_of(reason);
    out.dropped = from.reasons.find(reason)->second;
    return true;
  }
  const Counts &c = from.counts;
  out.in = c.in;
  out.created = c.created;
  out.out = c.out;
  out.dropped = c.dropped;
  out.merged = c.merged;
  out.dead_letter = c.dead_letter;
  out.queued = c.queued;
  out.queued_bytes = c.queued_bytes;
  out.gaps = c.gaps;
  out.errors = c.errors;
  out.busy_ns = c.busy_ns;
  return true;
}

}  // namespace atalaya::core
