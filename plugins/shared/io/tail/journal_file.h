// SPDX-License-Identifier: Apache-2.0
// The journal on disk: PATH has the complete journal, PATH.recent the changes since PATH was written. With thousands of files,
// only changed positions are therefore written.
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

  struct Loaded {
    Journal journal;
    std::string problem;  // the damage and the new name of the damaged file; "": no damage
  };
  // Reads the journal. It is empty if the file is missing, and without the changes if those are damaged.
  Loaded read();
  // Writes the journal atomically, also in a power failure. Does not write if nothing has changed.
  core::Status write(const Journal &journal);
  // Renames unusable files to PATH.damaged for inspection.
  void rename_damaged();

 private:
  core::Status write_complete(Journal journal);
  // The changes to the written journal. Nothing if there are so many that the complete journal should be written.
  std::optional<Recent> changes_to(const Journal &journal) const;
  std::string add_recent(Journal &journal) const;

  std::string path_, recent_path_;
  // The positions in PATH, if this object wrote it.
  std::optional<std::map<FileId, Position>> complete_;
  int64_t written_ns_ = 0;
  std::string recent_;  // the text of PATH.recent after the last write
};

}  // namespace atalaya::tail
