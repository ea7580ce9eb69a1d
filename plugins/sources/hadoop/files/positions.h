// SPDX-License-Identifier: Apache-2.0
// Persists, across restarts, the position up to which the sinks have stored each history, in a
// database.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "plugins/shared/protocols/base/span.h"
#include "plugins/shared/store/sqlite/file/database.h"

namespace atalaya::hadoop {

// Size and modification time of a file, to detect changes.
struct Mark {
  uint64_t size = 0;
  int64_t changed_ms = 0;
  bool operator==(const Mark &) const = default;
};

class Positions {
 public:
  // file: path of the database; it is created if missing and replaced if damaged.
  explicit Positions(const std::string &file);

  // Returns the files that were read to their end, by path.
  std::map<std::string, Mark> files();
  // Returns the saved position of a history, also if its file was moved; empty: a new history.
  std::optional<protocols::Position> position_of(const std::string &key);

  struct Progress {
    std::string key;  // key of the history; empty: the entry has a file only
    protocols::Position position;
    std::string path;
    std::optional<Mark> mark;  // set if the file has been read to its end
  };
  void save(const std::vector<Progress> &progress, int64_t now_s);
  // Forgets all files except `paths`, and histories without progress since `since_s`.
  void forget_all_but(const std::set<std::string> &paths, int64_t since_s);

 private:
  store::Database database_;
};

}  // namespace atalaya::hadoop
