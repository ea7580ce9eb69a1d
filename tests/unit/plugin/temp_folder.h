// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace atalaya::test {

// A folder that only its owner may enter, removed at the end.
class TempFolder {
 public:
  TempFolder() {
    std::string name = std::filesystem::temp_directory_path() / "atalaya-test-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  TempFolder(const TempFolder &) = delete;
  TempFolder &operator=(const TempFolder &) = delete;
  ~TempFolder() { std::filesystem::remove_all(path_); }

  std::string operator/(const std::string &name) const { return path_ / name; }
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace atalaya::test
