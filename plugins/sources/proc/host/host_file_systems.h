// SPDX-License-Identifier: Apache-2.0
// The space of file systems, queried on a separate thread: a file system that hangs (FUSE, NFS) blocks its caller in the kernel,
// possibly forever.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugins/sources/proc/host/host_model.h"

namespace atalaya::proc {

// The result of statvfs(3) for a mount point; nothing when it fails.
std::optional<Space> space_at(const std::string &mount);

struct FileSystemQueryOptions {
  std::function<std::optional<Space>(const std::string &mount)> query = space_at;
  std::chrono::milliseconds timeout{20};  // of the caller, for all mounts together
};

class FileSystemSpaces {
 public:
  using Mounts = std::shared_ptr<const std::vector<FileSystem>>;

  explicit FileSystemSpaces(FileSystemQueryOptions options) : options_(std::move(options)) {}
  FileSystemSpaces(const FileSystemSpaces &) = delete;
  FileSystemSpaces &operator=(const FileSystemSpaces &) = delete;
  ~FileSystemSpaces() { stop(); }

  void start();
  // Does not wait for a file system that hangs: its thread is detached and ends when the kernel returns.
  void stop();

  // Queries one mount or more. True when all responded in time; else no further query is sent until the unresponsive one has
  // responded or failed.
  bool query(const Mounts &mounts);
  // After query returned true, until the next query: in the order of the mounts.
  const std::vector<std::optional<Space>> &answers() const;
  // After query returned false: the mount point that does not respond.
  const std::string &unresponsive() const { return unresponsive_; }

 private:
  struct Shared;
  static void work(Shared &shared);

  FileSystemQueryOptions options_;
  std::shared_ptr<Shared> shared_;  // with the thread, which may outlive this
  std::string unresponsive_;
};

}  // namespace atalaya::proc
