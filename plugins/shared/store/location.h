// SPDX-License-Identifier: Apache-2.0
// The location of a store, and the lock of its writer.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/base/files.h"

namespace atalaya::store {

// The default of the sink and of every command: $ATALAYA_STORE, else atalaya.db in the state folder.
std::string default_path();
// Parses the value of --store: returns a path without a leading "sqlite:", or the text of another engine; "" is the default.
std::string store_of(std::string_view text);

// Creates the folder of the default path; any other folder must exist. Throws if the store cannot be created there.
void prepare_folder(const std::string &path);

// A store has one writer. The lock is a file next to the database (path + "-lock") and ends with the process.
core::Descriptor lock_for_writing(const std::string &path);

// Creates the database file if it is missing, readable by the owner and the group only; SQLite gives its log the same mode. If
// that fails, opening the database reports the reason.
void create_private(const std::string &path);

// The files of an open store, by their inode numbers. A removed or replaced file remains open, and data that is written to it
// is lost.
class Place {
 public:
  // Call it when the files are open.
  explicit Place(const std::string &path);
  bool are_in_place() const;

 private:
  struct File {
    std::string path;
    dev_t device = 0;
    ino_t inode = 0;  // 0: none
    bool operator==(const File &) const = default;
  };
  static File stat_file(const std::string &path);
  std::vector<File> files_;
};

// Disk space that is reserved next to the database (path + "-reserve"). On a full disk SQLite cannot even delete, because its
// log needs space first; the reserve provides it.
class Reserve {
 public:
  explicit Reserve(const std::string &path);
  // Reserves the space, if it is not reserved yet and the disk has it.
  void allocate();
  void release();

 private:
  core::Descriptor file_;
  bool held_ = false;
};

}  // namespace atalaya::store
