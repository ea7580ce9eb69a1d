// SPDX-License-Identifier: Apache-2.0
// Descriptors that close themselves, and the folders an agent uses.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"

namespace atalaya::core {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Descriptor() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset();

 private:
  int fd_ = -1;
};

// Whether the open file or folder is what the path leads to: false when it was removed, moved or replaced since.
bool is_at(int fd, const std::string &path);

// The text of errno: "No such file or directory".
std::string error_text(int error_number);

Result<std::string> read_file(const std::string &path, size_t max_bytes);
// Makes the folder and its missing parents, mode 0755.
Status make_folders(const std::string &path);

// $STATE_DIRECTORY, else /var/lib/atalaya for root, ~/.local/state/atalaya for others.
std::string state_folder();
// $RUNTIME_DIRECTORY, else /run/atalaya for root, $XDG_RUNTIME_DIR/atalaya or /tmp/atalaya-UID for others.
std::string runtime_folder();
// An error unless the folder belongs to root or the effective user and no one else may write in it, so that its files can be
// trusted.
Status check_own_folder(const std::string &path);
// The same, or the folder is another user's to whom root gave it, such as a service's in /run: who answers there is who should.
Status check_given_folder(const std::string &path);
// The folder of the running binary.
std::string binary_folder();

}  // namespace atalaya::core
