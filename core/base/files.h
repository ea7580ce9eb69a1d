// SPDX-License-Identifier: Apache-2.0
// File descriptors with an owner, files, and the agent's folders.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"

namespace atalaya::core {

// A file descriptor that its owner closes on destruction.
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

// Whether the number of an open file is in the lower `percent` of those that RLIMIT_NOFILE allows. The kernel gives the lowest free
// number, so that all parts of a process that close higher ones share one budget, and the rest is left for others.
bool is_within_file_limit(int fd, unsigned percent);

// Whether `path` still names the open file or folder `fd`: false if that was removed, moved or replaced.
bool is_at(int fd, const std::string &path);

// The text of errno: "No such file or directory".
std::string error_text(int error_number);

Result<std::string> read_file(const std::string &path, size_t max_bytes);
// Reads the rest of the open file into `text`. Returns 0 or errno; EFBIG if it is more than `max_bytes`.
int read_all(int fd, size_t max_bytes, std::string &text);
// Returns 0 or errno.
int write_all(int fd, std::string_view bytes);
// The folder of a file: "." for a name alone.
std::string folder_of(const std::string &path);
// Makes the folder and its missing parents, mode 0755.
Status make_folders(const std::string &path);

// $STATE_DIRECTORY, else /var/lib/atalaya for root, ~/.local/state/atalaya for others.
std::string state_folder();
// $RUNTIME_DIRECTORY, else /run/atalaya for root, $XDG_RUNTIME_DIR/atalaya or /tmp/atalaya-UID for others.
std::string runtime_folder();
// Returns an error unless root or the effective user owns the folder and nobody else can write to it: its files can be trusted.
Status check_own_folder(const std::string &path);
// Accepts also a folder that root assigned to another user, such as a service's folder in /run: only that user can have made the
// sockets in it.
Status check_assigned_folder(const std::string &path);
// The folder of the running binary.
std::string binary_folder();

}  // namespace atalaya::core
