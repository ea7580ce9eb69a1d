// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/location.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "core/base/files.h"
#include "plugins/shared/store/sqlite/file/database.h"

namespace atalaya::store {
namespace {

constexpr mode_t kMode =
    0640;  // names of processes and users, and command lines if the operator asked for them, are not for everyone

// SQLite's locks and shared memory do not work across machines.
bool is_network(const std::string &folder) {
  constexpr std::array<uint32_t, 8> types = {NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC,
                                             AFS_SUPER_MAGIC, V9FS_MAGIC,      CEPH_SUPER_MAGIC, CODA_SUPER_MAGIC};
  struct statfs system {};
  if (::statfs(folder.c_str(), &system) != 0) return false;
  for (const uint32_t type : types)
    if (static_cast<uint32_t>(system.f_type) == type) return true;
  return false;
}

// A file that root makes belongs to whom the folder belongs to: a command that root calls before the agent's first start leaves
// nothing that the agent cannot write. Only folders that this call created change their owner, never the target of a link.
core::Descriptor open_private(const std::string &path, int flags) {
  core::Descriptor made(::open(path.c_str(), flags | O_CREAT | O_EXCL | O_CLOEXEC, kMode));
  if (!made) return core::Descriptor(::open(path.c_str(), flags | O_CREAT | O_CLOEXEC, kMode));
  struct stat folder {};
  if (::geteuid() == 0 && ::stat(core::folder_of(path).c_str(), &folder) == 0 && folder.st_uid != 0)
    (void)!::fchown(made.get(), folder.st_uid, folder.st_gid);
  return made;
}

// SQLite would take an empty path for a database of its own that nobody else sees.
std::string_view without_engine(std::string_view text) {
  constexpr std::string_view kSqlite = "sqlite:";
  return text.starts_with(kSqlite) ? text.substr(kSqlite.size()) : text;
}

// The pid that the holder of the lock left in it.
std::string holder(int lock) {
  std::array<char, 16> text{};
  const ssize_t size = ::pread(lock, text.data(), text.size(), 0);
  if (size <= 0) return "another process";
  return "process " + std::string(text.data(), static_cast<size_t>(size));
}

}  // namespace

std::string default_path() {
  const char *text = std::getenv("ATALAYA_STORE");
  const std::string_view path = without_engine(text == nullptr ? "" : text);
  return path.empty() ? core::state_folder() + "/atalaya.db" : std::string(path);
}

std::string store_of(std::string_view text) {
  const std::string_view path = without_engine(text);
  return path.empty() ? default_path() : std::string(path);
}

void prepare_folder(const std::string &path) {
  const std::string folder = core::folder_of(path);
  if (path == default_path()) {
    if (const auto made = core::make_folders(folder); !made)
      throw Error(Cause::config, "the store's folder cannot be made: " + made.error() + "; set path, or $ATALAYA_STORE");
  }
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0)
    throw Error(Cause::config,
                "the store's folder " + folder + ": " + core::error_text(errno) + "; create it, or choose another path");
  if (!S_ISDIR(status.st_mode))
    throw Error(Cause::config, "the store's folder " + folder + " is not a folder; choose another path");
  if (is_network(folder))
    throw Error(Cause::config,
                "the store's folder " + folder + " is on a network file system, where SQLite is not safe; choose a local path");
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    throw Error(Cause::config, "the store's path " + path + " is not a file; choose another path");
}

core::Descriptor lock_for_writing(const std::string &path) {
  const std::string lock_path = path + "-lock";
  core::Descriptor lock = open_private(lock_path, O_RDWR | O_NOFOLLOW);
  if (!lock)
    throw Error(Cause::config, "the store's lock " + lock_path + ": " + core::error_text(errno) +
                                   "; allow the agent's user to write in its folder, or choose another path");
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) throw Error(Cause::config, "the store's lock " + lock_path + ": " + core::error_text(errno));
    throw Error(Cause::config, "database " + path + " is being written by " + holder(lock.get()) +
                                   "; add the pipeline to that agent's file, stop that agent, or choose another path");
  }
  // Only the text of an error message hangs on it: a full disk must not keep the agent from starting.
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(lock.get(), 0) == 0) (void)!::pwrite(lock.get(), pid.data(), pid.size(), 0);
  return lock;
}

void create_private(const std::string &path) {
  // Closing a file that SQLite has open in this process would end its locks.
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return;
  const core::Descriptor file = open_private(path, O_RDONLY);
}

Place::Place(const std::string &path) {
  for (const char *suffix : {"", "-wal", "-shm", "-lock"}) files_.push_back(stat_file(path + suffix));
}

Place::File Place::stat_file(const std::string &path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {path};
  return {path, status.st_dev, status.st_ino};
}

bool Place::are_in_place() const {
  return std::all_of(files_.begin(), files_.end(), [](const File &file) { return file == stat_file(file.path); });
}

Reserve::Reserve(const std::string &path) : file_(open_private(path + "-reserve", O_RDWR | O_NOFOLLOW)) {
  allocate();
}

void Reserve::allocate() {
  // More than the log holds between two checkpoints (4 MiB) and a batch.
  constexpr off_t size = 8 << 20;
  if (held_ || !file_) return;
  held_ = ::posix_fallocate(file_.get(), 0, size) == 0;
  if (!held_) release();
}

void Reserve::release() {
  held_ = false;
  if (file_) (void)!::ftruncate(file_.get(), 0);
}

}  // namespace atalaya::store
