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

namespace atalaya::core {

class Tree {
 public:
  // A file's text, or why there is none.
  struct Text {
    std::string text;
    int error = 0;
    bool ok() const { return error == 0; }
    bool missing() const;  // there is no such file, which is something known
  };
  struct Listing {
    std::vector<std::string> names;  // without "." and "..", by length and then by text: x2 before x10
    int error = 0;
    bool missing() const;
  };

  explicit Tree(std::string root) : root_(std::move(root)) {}
  // Before all below; an error when the root is no folder that can be opened.
  Status open();

  const std::string &root() const { return root_; }
  int folder() const { return folder_.get(); }  // for openat
  // The path as a message names it.
  std::string named(std::string_view path) const;

  // Paths are from the root, a leading '/' or not. At most so many bytes; more are EFBIG. Only regular files: others may block.
  Text read(std::string_view path, size_t max_bytes) const;
  // Of a small file, without the blanks around it; empty without one.
  std::string line(std::string_view path) const;
  // Where the line is a whole number.
  std::optional<int64_t> number(std::string_view path) const;
  // Names that begin so.
  Listing list(std::string_view path, std::string_view prefix = {}) const;
  bool is_folder(std::string_view path) const;  // and no link to one
  bool has(std::string_view path) const;
  std::string link_name(std::string_view path) const;  // the last part of where a link leads; empty without one
  // Of a file: the same for all its names. Nothing without one.
  std::optional<std::pair<uint64_t, uint64_t>> identity(std::string_view path) const;

 private:
  std::string root_;
  core::Descriptor folder_;
};

}  // namespace atalaya::core
