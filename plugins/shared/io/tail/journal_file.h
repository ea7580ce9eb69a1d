// SPDX-License-Identifier: Apache-2.0
// The journal on disk: PATH has the whole journal, PATH.recent the changes since PATH was written. So with thousands of files, only
// changed positions are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/base/result.h"
#include "plugins/shared/io/tail/journal.h"
#include "plugins/shared/io/tail/state_file.h"

namespace atalaya::tail {

// Maximum size; a larger journal is neither written nor read.
inline constexpr size_t kMaxJournalBytes = kMaxStateBytes;

class JournalFile {
 public:
  explicit JournalFile(std::string path) : path_(std::move(path)), recent_path_(path_ + ".recent") {}

  struct Kept {
    Journal journal;
    std::string problem;  // damage, with the new name of the file; "": none
  };
  // An empty journal if the file is missing. If the changes are damaged, the journal without them.
  Kept read();
  // Atomic, also on power failure; does not write if nothing has changed.
  core::Status write(const Journal &journal);
  // Renames unusable files to PATH.damaged for inspection.
  void set_aside();

 private:
  core::Status write_whole(Journal journal);
  // Nothing: too many changes; write the whole journal.
  std::optional<Recent> changes_to(const Journal &journal) const;
  std::string add_recent(Journal &journal) const;

  std::string path_, recent_path_;
  // The contents of PATH if this object wrote it; nothing if unknown.
  std::optional<std::map<FileId, Position>> whole_;
  int64_t written_ns_ = 0;
  std::string recent_;  // the text of PATH.recent, or its text without changes
};

}  // namespace atalaya::tail
