// SPDX-License-Identifier: Apache-2.0
// Saves the positions that the sinks hold, over restarts.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "plugins/shared/store/sqlite/file/database.h"
#include "plugins/shared/protocols/base/span.h"

namespace atalaya::hadoop {

// Size and time of a file, to detect changes.
struct Mark {
  uint64_t size = 0;
  int64_t changed_ms = 0;
  bool operator==(const Mark &) const = default;
};

class Positions {
 public:
  // file: the database; created if missing, replaced if damaged.
  explicit Positions(const std::string &file);

  // Files read to their end, by path.
  std::map<std::string, Mark> files();
  // The position of a history, independent of its file's path; nothing: new.
  std::optional<protocols::Position> of(const std::string &key);

  struct Progress {
    std::string key;  // empty: of a file only
    protocols::Position position;
    std::string path;
    std::optional<Mark> mark;  // the file has been read to its end
  };
  void save(const std::vector<Progress> &progress, int64_t now_s);
  // Forgets other files, and histories without progress since then.
  void forget_all_but(const std::set<std::string> &paths, int64_t since_s);

 private:
  store::Database database_;
};

}  // namespace atalaya::hadoop
