// SPDX-License-Identifier: Apache-2.0
// Queries the space of file systems on a separate thread: a file system that does not respond (FUSE, NFS) blocks its caller in the
// kernel, possibly without end.
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
  std::chrono::milliseconds timeout{20};  // maximum wait of FileSystemSpaces::query, for all mounts together
};

class FileSystemSpaces {
 public:
  using Mounts = std::shared_ptr<const std::vector<FileSystem>>;

  explicit FileSystemSpaces(FileSystemQueryOptions options) : options_(std::move(options)) {}
  FileSystemSpaces(const FileSystemSpaces &) = delete;
  FileSystemSpaces &operator=(const FileSystemSpaces &) = delete;
  ~FileSystemSpaces() { stop(); }

  void start();
  // Does not wait for a file system that does not respond: its thread is detached and ends when the kernel returns.
  void stop();

  // Queries all mounts (at least one) and returns true when all responded before the timeout. After a timeout, calls return false
  // without a new query until the unresponsive file system has responded or failed.
  bool query(const Mounts &mounts);
  // The results in the order of the mounts; valid after query returned true, until the next query.
  const std::vector<std::optional<Space>> &answers() const;
  // The mount point that does not respond; valid after query returned false.
  const std::string &unresponsive() const { return unresponsive_; }

 private:
  struct Shared;
  static void work(Shared &shared);

  FileSystemQueryOptions options_;
  std::shared_ptr<Shared> shared_;  // state shared with the thread, which may outlive this object
  std::string unresponsive_;
};

}  // namespace atalaya::proc
