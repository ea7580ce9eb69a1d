// SPDX-License-Identifier: Apache-2.0
// The journal on disk: PATH has all of it, and PATH.recent what has changed since that was written. So a look at thousands of files
// that are read to their end writes only of those that are not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/base/result.h"
#include "plugins/shared/tail/journal.h"

namespace atalaya::tail {

// A longer one is neither written nor read.
inline constexpr size_t kMaxJournalBytes = size_t{64} << 20;

class JournalFile {
 public:
  explicit JournalFile(std::string path) : path_(std::move(path)), recent_path_(path_ + ".recent") {}

  struct Kept {
    Journal journal;
    std::string problem;  // what is damaged and set aside; "": nothing is
  };
  // An empty journal when there is none. Of changes that are damaged the journal remains that they were of.
  Kept read();
  // All or nothing, also when the power fails; nothing is written where nothing has changed.
  core::Status write(const Journal &journal);
  // What cannot be used is kept for those who want to know why: it is PATH.damaged then.
  void set_aside();

 private:
  core::Status write_whole(Journal journal);
  // Nothing: they are so many that all is written anew.
  std::optional<Recent> changes_to(const Journal &journal) const;
  std::string add_recent(Journal &journal) const;

  std::string path_, recent_path_;
  // What PATH has, where this one wrote it; nothing before, and where it is not known.
  std::optional<std::map<FileId, Position>> whole_;
  int64_t written_ns_ = 0;
  std::string recent_;  // as it reads in PATH.recent, or would if there were changes
};

}  // namespace atalaya::tail
