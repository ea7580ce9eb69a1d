// SPDX-License-Identifier: Apache-2.0
#include "core/base/secret_path.h"

#include <filesystem>
#include <system_error>

namespace atalaya::core {

std::string shown_secret_path(const std::string &path) {
  const std::filesystem::path written(path);
  const std::filesystem::path folder = written.parent_path();
  std::error_code error;
  const bool in_folder = !folder.empty() && folder != "/" && std::filesystem::is_directory(folder, error);
  if (in_folder || std::filesystem::exists(written, error)) return path;
  return "(value not shown, because it may be a secret)";
}

}  // namespace atalaya::core
