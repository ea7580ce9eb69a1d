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

// Needs no place as the writer: a span is a short transaction between those of the agent, and SQLite puts them one after the other.
// Everything throws Error.
class SpanWriter final : public StoreWriter {
 public:
  // "": the default path. A missing store is created, as a writer creates it.
  SpanWriter(const std::string &path, core::NameOf name_of);

  int64_t arrival(const core::ClockReading &now) override { return arrivals_.at(now); }
  // Samples of kind SPAN, all or none. One with the same start, name and tags is replaced.
  Refused write(std::span<const atalaya_sample> spans, int64_t now_ns) override;
  bool maintain(int64_t /*now_ns*/) override { return false; }

 private:
  void put(Statement &statement, const atalaya_sample &span, int64_t now_ns);

  Database database_;
  ArrivalClock arrivals_;
  Dictionary dictionary_;
};

}  // namespace atalaya::store
