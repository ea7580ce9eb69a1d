// SPDX-License-Identifier: Apache-2.0
// Continues reading one history, and leaves out spans that the sinks already hold.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "plugins/sources/hadoop/files/finder.h"
#include "plugins/sources/hadoop/model/history.h"
#include "plugins/sources/hadoop/files/positions.h"

namespace atalaya::hadoop {

// Whether it is an open file whose storage lists neither its last change nor its full size.
inline bool is_listed_late(const Storage &storage, const Found &found) {
  return !storage.reads_at_end() && !found.parts.empty() && found.parts.back().open;
}
// Whether its storage lists no size at all: each read may return more.
inline bool grows_unseen(const Storage &storage, const Found &found) {
  return is_listed_late(storage, found) && found.parts.back().size == 0;
}

class Reading {
 public:
  // The position up to which a history is held; called once, when its key is known.
  using Lookup = std::function<std::optional<protocols::Position>(const std::string &key)>;
  // Sends spans, and the position after them. False: stop.
  using Send = std::function<bool(const std::string &key, protocols::Spans &spans, protocols::Position position)>;

  Reading(const Rules &rules, const Found &found) : history_(rules, found.name), path_(found.path) {}

  // Reads new data, and with `report_open` reports open spans. Throws Unreadable. False: stopped.
  bool read_on(Storage &storage, const Found &found, bool report_open, const Lookup &lookup, const Send &send);

  const History &history() const { return history_; }
  uint64_t read() const { return read_; }  // bytes
  // Whether it has shrunk or its parts were replaced: then read it from the start.
  bool outdated(const Storage &storage, const Found &found) const;

 private:
  size_t size_to_request(const Storage &storage, const Part &part) const;
  bool read_part(Storage &storage, const Part &part, const Lookup &lookup, const Send &send);
  bool send_spans(const Lookup &lookup, const Send &send, bool all);
  void drop_held(const Lookup &lookup);

  History history_;
  const std::string path_;
  std::string key_;
  std::optional<protocols::Position> held_;  // by the sinks at the start of the reading
  protocols::Position sent_;                 // sent since then
  bool looked_up_ = false, begun_ = false;
  uint64_t part_ = 0, offset_ = 0;  // raw bytes of the part that were fed
  uint64_t read_ = 0;
  protocols::Spans spans_;
};

}  // namespace atalaya::hadoop
