// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ledger/ledger.h"
#include "core/plugin/instance.h"

namespace atalaya::core {

// Samples that an instance counted with host->count since the last `take`.
struct Tally {
  int64_t merged = 0, created = 0, dropped = 0, dead_letter = 0;
  std::vector<std::pair<std::string, int64_t>> reasons;  // dropped samples by reason
};

// The services of an instance in the engine. Collects its counts until the engine moves them into the ledger.
class CountingSurroundings : public Surroundings {
 public:
  CountingSurroundings(Ledger &ledger, std::string state_dir) : ledger_(ledger), state_dir_(std::move(state_dir)) {}

  void count(int32_t what, std::string_view reason, uint64_t samples) override;
  void on_restart() override { ++restarts_; }
  std::optional<std::string> state_dir() override;
  bool ledger(uint64_t row, atalaya_ledger_row &out) override;

  Tally take();
  int64_t take_restarts() { return restarts_.exchange(0); }

 private:
  Ledger &ledger_;
  std::string state_dir_;
  std::mutex mutex_;
  Tally tally_;
  std::atomic<int64_t> restarts_{0};
  std::vector<LedgerRow> snapshot_;                        // read by `ledger`
  std::vector<std::pair<size_t, std::string_view>> rows_;  // index in snapshot_, and the reason if it is a row of drops
};

}  // namespace atalaya::core
