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

// Of an open file whose storage lists neither when it last grew nor all that it holds.
inline bool is_listed_late(const Storage &storage, const Found &found) {
  return !storage.reads_at_end() && !found.parts.empty() && found.parts.back().open;
}
// Of one whose storage lists nothing: there may be more each time it is asked.
inline bool grows_unseen(const Storage &storage, const Found &found) {
  return is_listed_late(storage, found) && found.parts.back().size == 0;
}

class Reading {
 public:
  // How far a history is held; called once, when its key is known.
  using Lookup = std::function<std::optional<Position>(const std::string &key)>;
  // Takes spans, and how far the history has been taken with them. False: stop here.
  using Give = std::function<bool(const std::string &key, Spans &spans, Position position)>;

  Reading(const Rules &rules, const Found &found) : history_(rules, found.name), path_(found.path) {}

  // Reads what is new, and with `tell_open` tells what goes on. Throws Unreadable. False: it was stopped.
  bool read_on(Storage &storage, const Found &found, bool tell_open, const Lookup &lookup, const Give &give);

  const History &history() const { return history_; }
  uint64_t read() const { return read_; }  // bytes
  // It has shrunk, or its parts were replaced: it has to be read anew.
  bool outdated(const Storage &storage, const Found &found) const;

 private:
  size_t size_to_ask(const Storage &storage, const Part &part) const;
  bool read_part(Storage &storage, const Part &part, const Lookup &lookup, const Give &give);
  bool hand_on(const Lookup &lookup, const Give &give, bool all);
  void drop_held(const Lookup &lookup);

  History history_;
  const std::string path_;
  std::string key_;
  std::optional<Position> held_;  // of the sinks, when reading began
  Position given_;                // how far it has been given since
  bool looked_up_ = false, begun_ = false;
  uint64_t part_ = 0, offset_ = 0;  // raw bytes of it that were fed
  uint64_t read_ = 0;
  Spans spans_;
};

}  // namespace atalaya::hadoop
