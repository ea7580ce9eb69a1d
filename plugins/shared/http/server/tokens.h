// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::http_server {

// The secrets that senders may show, from a file: one a line, lines that begin with # are comments. Any thread.
class Tokens {
 public:
  // Throws when the file cannot be read, holds none, or others than the owner and the group may read it.
  explicit Tokens(std::string path);

  // The value of the header Authorization: "Bearer TOKEN", or "Basic ..." with a token as the password.
  bool allow(std::string_view authorization) const;
  // Reads the file again when it changed. What is wrong with it, once for each change; the tokens known so far hold then.
  std::string refresh();

 private:
  struct Stamp {
    int64_t seconds = 0, nanos = 0, inode = 0, size = 0;
    bool operator==(const Stamp &) const = default;
  };
  std::string load();
  bool known(std::string_view token) const;

  const std::string path_;
  mutable std::mutex mutex_;
  std::vector<std::string> tokens_;
  Stamp stamp_;
};

}  // namespace atalaya::http_server
