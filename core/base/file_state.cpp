// SPDX-License-Identifier: Apache-2.0
#include "core/base/file_state.h"

#include <sys/stat.h>

#include <cstdint>

namespace atalaya::core {

std::string file_state(const std::string &path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return "missing";
  std::string state;
  for (const auto number :
       {static_cast<int64_t>(status.st_dev), static_cast<int64_t>(status.st_ino), static_cast<int64_t>(status.st_size),
        static_cast<int64_t>(status.st_mtim.tv_sec), static_cast<int64_t>(status.st_mtim.tv_nsec)})
    state += std::to_string(number) + " ";
  return state;
}

}  // namespace atalaya::core
