// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "core/delivery/sink_worker.h"
#include "core/ledger/counting.h"
#include "core/ledger/ledger.h"

namespace atalaya::core {

// The changes that one window makes to the ledger and to the sinks' queues. They take effect under one lock, so that no snapshot
// contains a part of them.
class Transaction {
 public:
  // The changes of one row. The reference is valid until the next call.
  Counts &counts(LedgerRow &row) { return changes_.emplace_back(Change{&row, {}, {}}).counts; }
  void dropped(LedgerRow &row, std::string_view reason, int64_t samples);
  void deliver(SinkWorker &sink, Delivery delivery) { deliveries_.emplace_back(&sink, std::move(delivery)); }

  void commit(Ledger &ledger);

 private:
  struct Change {
    LedgerRow *row;
    Counts counts;       // are added to those of the row
    std::string reason;  // reason of counts.dropped
  };
  std::vector<Change> changes_;
  std::vector<std::pair<SinkWorker *, Delivery>> deliveries_;
  std::vector<Delivery> released_;
};

}  // namespace atalaya::core
