// SPDX-License-Identifier: Apache-2.0
// The space of file systems, asked on a thread of its own: one that hangs (FUSE, NFS) keeps its caller in the kernel, for ever if
// its server does not come back.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugins/sources/proc/host/host_model.h"

namespace atalaya::proc {

// What statvfs(3) says of the file system at a mount point; nothing when it fails.
std::optional<Space> space_at(const std::string &mount);

struct FileSystemQuestions {
  std::function<std::optional<Space>(const std::string &mount)> ask = space_at;
  std::chrono::milliseconds patience{20};  // of the caller, for all mounts together
};

class FileSystemSpaces {
 public:
  using Mounts = std::shared_ptr<const std::vector<FileSystem>>;

  explicit FileSystemSpaces(FileSystemQuestions questions) : questions_(std::move(questions)) {}
  FileSystemSpaces(const FileSystemSpaces &) = delete;
  FileSystemSpaces &operator=(const FileSystemSpaces &) = delete;
  ~FileSystemSpaces() { stop(); }

  void start();
  // Does not wait for a file system that hangs: its thread is left behind, and ends when the kernel lets it.
  void stop();

  // Of one mount or more. True when all have answered in time; when not, nothing more is asked until the one that is silent has
  // answered or failed.
  bool ask(const Mounts &mounts);
  // After ask gave true, until the next: in the order of the mounts.
  const std::vector<std::optional<Space>> &answers() const;
  // After ask gave false: the mount point that does not answer.
  const std::string &silent() const { return silent_; }

 private:
  struct Shared;
  static void work(Shared &shared);

  FileSystemQuestions questions_;
  std::shared_ptr<Shared> shared_;  // with the thread, which may outlive this
  std::string silent_;
};

}  // namespace atalaya::proc
