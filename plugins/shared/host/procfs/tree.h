// SPDX-License-Identifier: Apache-2.0
// Reads files below a root folder: /proc, /sys and /etc of the host, or a recorded copy of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/files.h"

namespace atalaya::procfs {

class Tree {
 public:
  // The text of a file, or the error.
  struct Text {
    std::string text;
    int error = 0;
    bool ok() const { return error == 0; }
    bool missing() const;  // the file does not exist
  };
  struct Listing {
    std::vector<std::string> names;  // names without "." and "..", by length and then by text: x2 before x10
    int error = 0;
    bool missing() const;
  };

  explicit Tree(std::string root) : root_(std::move(root)) {}
  // Opens the root; call it before all others. Returns an error if the root is not a folder or cannot be opened.
  core::Status open();

  const std::string &root() const { return root_; }
  int folder() const { return folder_.get(); }  // the root's descriptor, for openat
  // The path with the root, for messages.
  std::string full_path(std::string_view path) const;

  // Reads a regular file; other files may block. Paths are relative to the root, with or without a leading '/'. A file with more
  // than `max_bytes` bytes is the error EFBIG.
  Text read(std::string_view path, size_t max_bytes) const;
  // The text of a small file without blanks at its ends; "" if the file is missing.
  std::string line(std::string_view path) const;
  // The text of a small file as an integer, if it is one.
  std::optional<int64_t> number(std::string_view path) const;
  // The names in a folder that start with the prefix.
  Listing list(std::string_view path, std::string_view prefix = {}) const;
  bool is_folder(std::string_view path) const;  // false for a link to a folder
  bool has(std::string_view path) const;
  std::string link_name(std::string_view path) const;  // the last part of a link's target; "" if the path is not a link
  // Device and inode of a file, which are equal for all its names. Nothing if the file is missing.
  std::optional<std::pair<uint64_t, uint64_t>> identity(std::string_view path) const;

 private:
  std::string root_;
  core::Descriptor folder_;
};

}  // namespace atalaya::procfs
