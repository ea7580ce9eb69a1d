// SPDX-License-Identifier: Apache-2.0
// Which files there are: finds them, knows them again under other names and numbers, opens them, and forgets those that are gone.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugins/shared/tail/followed_file.h"
#include "plugins/shared/tail/open_file_limit.h"

namespace atalaya::tail {

class KnownFiles {
 public:
  explicit KnownFiles(Context &context) : context_(context) {}

  void restore(const std::vector<Position> &positions, int64_t began_ns, const std::vector<Segment> &segments);
  void look();
  void drop_gone();

  Files &all() { return files_; }
  const Files &all() const { return files_; }
  // Files with lines that could not be opened, as too many are.
  size_t waiting() const { return waiting_; }
  int64_t began_ns() const { return began_ns_; }

 private:
  struct Fresh {
    const Found *found;
    About about;
  };

  File &add(const Found &found, const FileId &id);
  File *by_id(const FileId &id) const;
  void forget_id(const File &file);
  std::vector<std::string> families() const;
  void look_at(const Found &found, std::vector<Fresh> &fresh);
  std::vector<Fresh>::iterator wanted_first(std::vector<Fresh> &fresh) const;
  void open_changed(Room &room);
  core::Descriptor open_found(const Found &found);
  File *restored_as(const Found &found, int fd, const FileId &id);
  File *adopt(const Found &found, core::Descriptor &fd, const FileId &id);
  File &begin(const Found &found, core::Descriptor fd, const About &now);
  void meet(const Found &found, Room &room);
  bool forgotten(File &file) const;
  void wait(const File &file);
  void say_once(const std::string &text);
  void say_nothing_there(const std::vector<Found> &found);

  Context &context_;
  Files files_;
  std::map<FileId, File *> ids_;
  uint32_t last_number_ = 0;
  bool first_ = true, looked_ = false;  // the first look of all, one of this run
  int64_t began_ns_ = 0;                // realtime
  size_t waiting_ = 0;
  std::optional<int64_t> waited_ns_;     // monotonic, when a file last had to
  std::set<std::string> said_, before_;  // what goes on, in this scan and the one before it
};

}  // namespace atalaya::tail
