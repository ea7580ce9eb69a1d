// SPDX-License-Identifier: Apache-2.0
// Small text files below a root folder, read without allocation: /proc and /sys, or a recorded copy of them. And parsing of lines,
// words and numbers.
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

// Opens a folder below the root ("/", "proc") to read files relative to it; empty when it cannot be opened (reason in errno).
core::Descriptor open_root(const std::string &root, const std::string &folder);

// The file from its beginning, on a descriptor that may be kept: procfs creates a new text for each read from offset 0. `read_once`
// makes one call, enough for the files that the kernel prints as one record (all of /proc/PID/, /proc/stat, /proc/meminfo) when the
// buffer holds them; `read_whole` reads to the end.
FileText read_once(int file, std::span<char> buffer);
FileText read_whole(int file, std::span<char> buffer);
// Opens, reads to the end, closes.
FileText read_path(int folder, const char *path, std::span<char> buffer);

// A file that is opened at the first read and kept; after an error it is opened again at the next read.
class KeptFile {
 public:
  explicit KeptFile(std::string path) : path_(std::move(path)) {}
  FileText read(int folder, std::span<char> buffer);
  // Of a file of procfs that poll(2) watches, such as mountinfo: whether it may have changed since the last call. True if it is not
  // open.
  bool may_have_changed() const;
  const std::string &path() const { return path_; }

 private:
  std::string path_;
  core::Descriptor file_;
};

// Each of these removes its result from the front of `text`.
std::string_view next_line(std::string_view &text);  // without its '\n'; an empty text has an empty line
std::string_view next_word(std::string_view &text);  // between blanks (space, tab, newline); empty at the end
// A decimal number after blanks, ended by a blank or the end of the text. False, with text and value untouched, for other text
// and for numbers out of range.
bool next_number(std::string_view &text, uint64_t &value);
bool next_number(std::string_view &text, int64_t &value);
// A whole text that is one number, such as a folder's name.
bool whole_number(std::string_view text, uint64_t &value);

}  // namespace atalaya::procfs
