// SPDX-License-Identifier: Apache-2.0
// Writes single spans while the agent runs: experiments of an operator, not samples of a pipeline.
#pragma once

#include <atalaya/plugin.h>

#include <span>
#include <string>

#include "core/base/sample/name_cache.h"
#include "plugins/shared/store/sqlite/arrival_clock.h"
#include "plugins/shared/store/sqlite/file/database.h"
#include "plugins/shared/store/sqlite/names/dictionary.h"
#include "plugins/shared/store/store.h"

namespace atalaya::store {

// Can write while another writer is active: a span is a short transaction between those of the agent, which SQLite executes one
// after the other. All functions throw Error.
class SpanWriter final : public StoreWriter {
 public:
  // `path` "": the default path. A missing store is created as a writer creates it.
  SpanWriter(const std::string &path, core::NameOf name_of);

  int64_t arrival(const core::ClockReading &now) override { return arrivals_.at(now); }
  // Writes all spans or none. A span replaces the stored one with the same start, name and tags.
  Refused write(std::span<const atalaya_sample> spans, int64_t now_ns) override;
  bool maintain(int64_t /*now_ns*/) override { return false; }

 private:
  void put(Statement &statement, const atalaya_sample &span, int64_t now_ns);

  Database database_;
  ArrivalClock arrivals_;
  Dictionary dictionary_;
};

}  // namespace atalaya::store
