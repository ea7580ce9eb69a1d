// SPDX-License-Identifier: Apache-2.0
// The set of followed files. Finds and opens files; recognises a file after a rename or copy; removes deleted ones.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugins/shared/io/tail/followed_file.h"
#include "plugins/shared/io/tail/open_file_limit.h"

namespace atalaya::tail {

class KnownFiles {
 public:
  explicit KnownFiles(Context &context) : context_(context) {}

  void restore(const std::vector<Position> &positions, int64_t began_ns, const std::vector<Segment> &segments);
  void scan();
  void drop_deleted();

  Files &all() { return files_; }
  const Files &all() const { return files_; }
  // Files with unread lines that cannot be opened because of max_files.
  size_t waiting() const { return waiting_; }
  int64_t began_ns() const { return began_ns_; }

 private:
  struct NewFile {
    const Found *found;
    FileStatus status;
  };

  File &add(const Found &found, const FileId &id);
  File *by_id(const FileId &id) const;
  void forget_id(const File &file);
  std::vector<std::string> families() const;
  void check_found(const Found &found, std::vector<NewFile> &fresh);
  std::vector<NewFile>::iterator wanted_first(std::vector<NewFile> &fresh) const;
  void open_changed(OpenSlots &slots);
  core::Descriptor open_found(const Found &found);
  File *restored_as(const Found &found, int fd, const FileId &id);
  File *adopt(const Found &found, core::Descriptor &fd, const FileId &id);
  File &begin(const Found &found, core::Descriptor fd, const FileStatus &now);
  void add_new(const Found &found, OpenSlots &slots);
  bool forgotten(File &file) const;
  void wait(const File &file);
  void log_once(const std::string &text);
  void log_no_match(const std::vector<Found> &found);

  Context &context_;
  Files files_;
  std::map<FileId, File *> ids_;
  uint32_t last_number_ = 0;
  bool first_ = true;     // neither this run nor an earlier one has scanned
  bool scanned_ = false;  // this run has scanned
  int64_t began_ns_ = 0;  // CLOCK_REALTIME of the first scan
  size_t waiting_ = 0;
  std::optional<int64_t> waited_ns_;       // monotonic time at which a file last had to wait
  std::set<std::string> logged_, before_;  // current problems, in this scan and the previous one
};

}  // namespace atalaya::tail
