// SPDX-License-Identifier: Apache-2.0
// Reads one history incrementally, and omits spans that the sinks have already stored.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "plugins/sources/hadoop/files/finder.h"
#include "plugins/sources/hadoop/files/positions.h"
#include "plugins/sources/hadoop/model/history.h"

namespace atalaya::hadoop {

// Returns true for an open file whose last change and full size the storage does not list yet.
inline bool is_listed_late(const Storage &storage, const Found &found) {
  return !storage.reads_at_end() && !found.parts.empty() && found.parts.back().open;
}
// Returns true if the storage lists no size of the file, so that each read may return more bytes than listed.
inline bool grows_unseen(const Storage &storage, const Found &found) {
  return is_listed_late(storage, found) && found.parts.back().size == 0;
}

class Reading {
 public:
  // Returns the position up to which the sinks have stored a history; called once, when its key is known.
  using Lookup = std::function<std::optional<protocols::Position>(const std::string &key)>;
  // Sends spans and the position after them. Returns false to stop the reading.
  using Send = std::function<bool(const std::string &key, protocols::Spans &spans, protocols::Position position)>;

  Reading(const Rules &rules, const Found &found) : history_(rules, found.name), path_(found.path) {}

  // Reads new data; with `report_open` also reports open spans. Returns false if `send` stopped the reading. Throws Unreadable.
  bool read_new(Storage &storage, const Found &found, bool report_open, const Lookup &lookup, const Send &send);

  const History &history() const { return history_; }
  uint64_t read() const { return read_; }  // bytes read
  // Returns true if the file has shrunk or its parts were replaced, so that it must be read from the start.
  bool outdated(const Storage &storage, const Found &found) const;

 private:
  size_t size_to_request(const Storage &storage, const Part &part) const;
  bool read_part(Storage &storage, const Part &part, const Lookup &lookup, const Send &send);
  bool send_spans(const Lookup &lookup, const Send &send, bool all);
  void drop_pending_wait(const Lookup &lookup);

  History history_;
  const std::string path_;
  std::string key_;
  std::optional<protocols::Position> stored_;  // stored by the sinks when the reading started
  protocols::Position sent_;                   // position after the last sent spans
  bool position_was_requested_ = false, has_started_ = false;
  uint64_t part_ = 0, offset_ = 0;  // number of the current part, and its bytes that were parsed
  uint64_t read_ = 0;
  protocols::Spans spans_;
};

}  // namespace atalaya::hadoop
