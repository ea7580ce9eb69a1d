// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace atalaya::http_server {

// The accepted tokens, from a file: one per line; lines that start with # are comments. Any thread.
class Tokens {
 public:
  // Throws if the file cannot be read, has no token, or is readable by users other than owner and group.
  explicit Tokens(std::string path);

  // Whether the header Authorization has a valid token: "Bearer TOKEN", or "Basic ..." with the token as the password.
  bool allow(std::string_view authorization) const;
  // Reads a changed file again. If the new file is invalid, returns its error once, and the previous tokens remain valid.
  core::Status refresh();

 private:
  struct Stamp {
    int64_t seconds = 0, nanos = 0, inode = 0, size = 0;
    bool operator==(const Stamp &) const = default;
  };
  core::Status load();
  bool known(std::string_view token) const;

  const std::string path_;
  mutable std::mutex mutex_;
  std::vector<std::string> tokens_;
  Stamp stamp_;
};

}  // namespace atalaya::http_server
