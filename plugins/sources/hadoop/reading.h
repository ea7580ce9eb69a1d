// SPDX-License-Identifier: Apache-2.0
// Reads one history on as far as it goes, and knows which of its spans the sinks hold already.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "plugins/sources/hadoop/finder.h"
#include "plugins/sources/hadoop/history.h"
#include "plugins/sources/hadoop/positions.h"

namespace atalaya::hadoop {

class Reading {
 public:
  // How far a history is held; called once, when its key is known.
  using Lookup = std::function<std::optional<Position>(const std::string &key)>;
  // Takes spans, and how far the history has been taken with them. False: stop here.
  using Give = std::function<bool(const std::string &key, Spans &spans, Position position)>;

  Reading(const Rules &rules, const Found &found) : history_(rules, found.name), path_(found.path) {}

  // Reads what is new. Throws Unreadable. False: it was stopped.
  bool read_on(Storage &storage, const Found &found, const Lookup &lookup, const Give &give);

  const History &history() const { return history_; }
  // It has shrunk, or its parts were replaced: it has to be read anew.
  bool outdated(const Found &found) const;
  const std::string &key() const { return key_; }

 private:
  bool read_part(Storage &storage, const Part &part, const Lookup &lookup, const Give &give);
  bool hand_on(const Lookup &lookup, const Give &give, bool all);
  void drop_held(const Lookup &lookup);

  History history_;
  const std::string path_;
  std::string key_;
  std::optional<Position> held_;  // of the sinks, when reading began
  bool looked_up_ = false, begun_ = false;
  uint64_t part_ = 0, offset_ = 0;  // raw bytes of it that were fed
  Spans spans_;
};

}  // namespace atalaya::hadoop
