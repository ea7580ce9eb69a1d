// SPDX-License-Identifier: Apache-2.0
// Small files of /sys and /proc below a root: the host's own, or another machine's recorded tree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/util/files.h"
#include "plugins/sources/proc/files.h"

namespace atalaya::power {

class Tree {
 public:
  explicit Tree(std::string root) : root_(std::move(root)) {}
  // Throws Failure when the root is no folder.
  void open();

  const std::string &root() const { return root_; }
  bool is_host() const { return root_ == "/"; }
  int folder() const { return folder_.get(); }
  // The path as a message names it.
  std::string named(const std::string &path) const { return is_host() ? "/" + path : root_ + "/" + path; }

  // The text without blanks at its end; absent when the file cannot be read (errno says why).
  std::optional<std::string> text(const std::string &path) const;
  std::optional<int64_t> number(const std::string &path) const;
  // Names in the folder that begin so, by length and then by text: x2 before x10.
  std::vector<std::string> entries(const std::string &path, std::string_view prefix) const;
  // Where a link leads, its last part: "coretemp.0".
  std::optional<std::string> link_name(const std::string &path) const;

 private:
  std::string root_;
  core::Descriptor folder_;
};

// A file with one number that is read again and again.
class NumberFile {
 public:
  explicit NumberFile(std::string path) : file_(std::move(path)) {}
  std::optional<int64_t> read(const Tree &tree);

 private:
  proc::KeptFile file_;
};

// A whole number, blanks around it allowed.
std::optional<int64_t> parse_number(std::string_view text);
// The number behind the prefix: 3 of "package-3".
std::optional<int32_t> number_after(std::string_view text, std::string_view prefix);

}  // namespace atalaya::power
