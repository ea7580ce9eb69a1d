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

// All that one window moved: it enters the ledger and the sinks' queues at once, so that no snapshot sees half of it.
class Transaction {
 public:
  // The changes of one row; the reference holds until the next call.
  Counts &counts(LedgerRow &row) { return moved_.emplace_back(Moved{&row, {}, {}}).counts; }
  void dropped(LedgerRow &row, std::string_view reason, int64_t samples);
  void deliver(SinkWorker &sink, Delivery delivery) { deliveries_.emplace_back(&sink, std::move(delivery)); }

  void commit(Ledger &ledger);

 private:
  struct Moved {
    LedgerRow *row;
    Counts counts;  // added; `dropped` only through `reason`
    std::string reason;
  };
  std::vector<Moved> moved_;
  std::vector<std::pair<SinkWorker *, Delivery>> deliveries_;
  std::vector<Delivery> released_;
};

}  // namespace atalaya::core
