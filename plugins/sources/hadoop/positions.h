// SPDX-License-Identifier: Apache-2.0
// What has been read and is held by the sinks, across restarts.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "plugins/sources/hadoop/span.h"
#include "plugins/shared/store/sqlite/database.h"

namespace atalaya::hadoop {

// Whether a file is as it was.
struct Mark {
  uint64_t size = 0;
  int64_t changed_ms = 0;
  bool operator==(const Mark &) const = default;
};

class Positions {
 public:
  // file: of the database; it is made if it is missing, and made anew if it is damaged.
  explicit Positions(const std::string &file);

  // Files that were read to their end, by path.
  std::map<std::string, Mark> files();
  // How far a history has been taken, wherever its file lay; nothing: it is new.
  std::optional<Position> of(const std::string &key);

  struct Progress {
    std::string key;  // empty: of a file only
    Position position;
    std::string path;
    std::optional<Mark> mark;  // the file has been read to its end
  };
  void save(const std::vector<Progress> &progress, int64_t now_s);
  // Forgets files that are no longer there, and histories that have not moved since.
  void forget_all_but(const std::set<std::string> &paths, int64_t since_s);

 private:
  store::Database database_;
};

}  // namespace atalaya::hadoop
