// SPDX-License-Identifier: Apache-2.0
// Reads small text files below a root folder (/proc and /sys, or a recorded copy) without allocation; parses lines, words and
// numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/files.h"

namespace atalaya::procfs {

// The result of a read: text within the caller's buffer, or an errno. A file larger than the buffer is cut.
struct FileText {
  std::string_view text;
  int error = 0;
  bool ok() const { return error == 0; }
};

// Opens a folder below the root ("/", "proc"), to which paths of files are relative. The descriptor is closed on an error (see
// errno).
core::Descriptor open_root(const std::string &root, const std::string &folder);

// Read a file from its start. The descriptor can be used repeatedly: procfs creates a new text for each read at offset 0.
// `read_once` makes one system call, which is enough if the buffer is large enough and the kernel prints the file as one record
// (all of /proc/PID/, /proc/stat, /proc/meminfo). `read_whole` reads to the end.
FileText read_once(int file, std::span<char> buffer);
FileText read_whole(int file, std::span<char> buffer);
// Opens, reads to the end, closes.
FileText read_path(int folder, const char *path, std::span<char> buffer);

// A file that is opened at the first read and remains open. After an error the next read opens it again.
class PersistentFile {
 public:
  explicit PersistentFile(std::string path) : path_(std::move(path)) {}
  FileText read(int folder, std::span<char> buffer);
  // Whether a file of procfs that supports poll(2), such as mountinfo, may have changed since the last call. True if it is not
  // open.
  bool may_have_changed() const;
  const std::string &path() const { return path_; }

 private:
  std::string path_;
  core::Descriptor file_;
};

// The following functions remove their result from the start of `text`.
// returns the word up to the next blank (space, tab, newline); empty at the end
std::string_view next_word(std::string_view &text);
// A decimal number after blanks; a blank or the end of the text must follow. For other texts, and numbers out of range, returns
// false and leaves `text` and `value` unchanged.
bool next_number(std::string_view &text, uint64_t &value);
bool next_number(std::string_view &text, int64_t &value);
// Parses a text that is one number, such as a folder's name.
bool whole_number(std::string_view text, uint64_t &value);

}  // namespace atalaya::procfs
