// SPDX-License-Identifier: Apache-2.0
// Queries the space of file systems on separate threads, because a file system that hangs (FUSE, NFS) blocks its caller in the
// kernel, possibly forever. The blocked thread is replaced, so only the values of that file system are missing.
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
  std::chrono::milliseconds wait{20};        // maximum wait of one call of query()
  std::chrono::milliseconds timeout{5'000};  // a file system that takes longer counts as unresponsive
};

// Used on one thread.
class FileSystemSpaces {
 public:
  explicit FileSystemSpaces(FileSystemQueryOptions options) : options_(std::move(options)) {}
  FileSystemSpaces(const FileSystemSpaces &) = delete;
  FileSystemSpaces &operator=(const FileSystemSpaces &) = delete;
  ~FileSystemSpaces() { stop(); }

  void start();
  // Does not wait for a file system that hangs: its thread ends when the kernel returns.
  void stop();

  // Starts a query for each mount point without an open one. Returns the results since the last call, one per mount in the given
  // order; nothing for a mount that failed or has not answered yet, whose result the next call returns. The results are valid until
  // the next call, which allocates nothing if the mounts are the same.
  const std::vector<std::optional<Space>> &query(const std::vector<FileSystem> &mounts);
  // Mount points whose query takes longer than `timeout`.
  std::vector<std::string> unresponsive() const;

 private:
  struct Shared;
  static void start_thread(const std::shared_ptr<Shared> &shared);
  static void run(Shared &shared);

  FileSystemQueryOptions options_;
  std::vector<std::optional<Space>> answers_;
  std::shared_ptr<Shared> shared_;  // state shared with the threads, which may outlive this object
};

}  // namespace atalaya::proc
