// SPDX-License-Identifier: Apache-2.0
// Files below a root folder: /proc, /sys and /etc, or a recorded copy of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/util/files.h"

namespace atalaya::inventory {

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
    std::vector<std::string> names;  // sorted, without "." and ".."
    int error = 0;
    bool missing() const;
  };

  // False when the root is no folder that can be opened.
  bool open(const std::string &root);

  // Paths are from the root, a leading '/' or not. At most so many bytes; more are EFBIG. Only regular files: others may block.
  Text read(std::string_view path, size_t max_bytes) const;
  // Of a small file, without the blanks around it; empty without one.
  std::string line(std::string_view path) const;
  Listing list(std::string_view path) const;
  bool is_folder(std::string_view path) const;  // and no link to one
  bool has(std::string_view path) const;
  std::string link_name(std::string_view path) const;  // the last part of where a link leads; empty without one
  // Of a file: the same for all its names. Nothing without one.
  std::optional<std::pair<uint64_t, uint64_t>> identity(std::string_view path) const;

 private:
  core::Descriptor root_;
};

}  // namespace atalaya::inventory
