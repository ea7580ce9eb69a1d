// SPDX-License-Identifier: Apache-2.0
// Files below a root folder: the host's own /proc, /sys and /etc, or a recorded copy of them.
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
    std::vector<std::string> names;  // without "." and "..", by length and then by text: x2 before x10
    int error = 0;
    bool missing() const;
  };

  explicit Tree(std::string root) : root_(std::move(root)) {}
  // Call it first; an error when the root is not a folder or cannot be opened.
  core::Status open();

  const std::string &root() const { return root_; }
  int folder() const { return folder_.get(); }  // for openat
  // The path for messages.
  std::string named(std::string_view path) const;

  // Paths are relative to the root, with or without a leading '/'. A file with more than the maximum of bytes is EFBIG. Only
  // regular files: others may block.
  Text read(std::string_view path, size_t max_bytes) const;
  // The text of a small file, trimmed; empty without one.
  std::string line(std::string_view path) const;
  // The line as a whole number, if it is one.
  std::optional<int64_t> number(std::string_view path) const;
  // Names with the prefix.
  Listing list(std::string_view path, std::string_view prefix = {}) const;
  bool is_folder(std::string_view path) const;  // not a link to one
  bool has(std::string_view path) const;
  std::string link_name(std::string_view path) const;  // the last part of the target of a link; empty without one
  // The identity of a file, equal for all its names. Nothing without a file.
  std::optional<std::pair<uint64_t, uint64_t>> identity(std::string_view path) const;

 private:
  std::string root_;
  core::Descriptor folder_;
};

}  // namespace atalaya::procfs
