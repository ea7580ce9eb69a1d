// SPDX-License-Identifier: Apache-2.0
// A folder for its owner only, deleted with its content.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace atalaya::core {

class ScratchFolder {
 public:
  // In $TMPDIR or /tmp, named by this and some letters. Throws filesystem_error.
  explicit ScratchFolder(const std::string &prefix) : path_(std::filesystem::temp_directory_path() / (prefix + "XXXXXX")) {
    if (::mkdtemp(path_.data()) == nullptr)
      throw std::filesystem::filesystem_error("no temporary folder", path_, std::error_code(errno, std::generic_category()));
  }
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string &path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace atalaya::core
