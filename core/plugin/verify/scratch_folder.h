// SPDX-License-Identifier: Apache-2.0
// A temporary folder with mode 0700, which is removed with its content on destruction.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace atalaya::core {

class ScratchFolder {
 public:
  // Creates the folder in $TMPDIR or /tmp; its name is `prefix` and random characters. Throws filesystem_error.
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
