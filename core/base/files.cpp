// SPDX-License-Identifier: Apache-2.0
#include "core/base/files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace atalaya::core {
namespace {

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// systemd separates several folders by ':'; the agent uses the first one.
std::string first_folder(const std::string &list) {
  return list.substr(0, list.find(':'));
}

}  // namespace

void Descriptor::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

bool is_within_file_limit(int fd, unsigned percent) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) != 0 || static_cast<rlim_t>(fd) < limit.rlim_cur / 100 * percent;
}

bool is_at(int fd, const std::string &path) {
  struct stat open {
  }, there{};
  return ::fstat(fd, &open) == 0 && ::stat(path.c_str(), &there) == 0 && open.st_dev == there.st_dev && open.st_ino == there.st_ino;
}

std::string error_text(int error_number) {
  return std::generic_category().message(error_number);
}

Result<std::string> read_file(const std::string &path, size_t max_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return Error{path + ": " + error_text(errno)};
  std::string text;
  const int error = read_all(file.get(), max_bytes, text);
  if (error == EFBIG) return Error{path + ": larger than " + std::to_string(max_bytes) + " bytes"};
  if (error != 0) return Error{path + ": " + error_text(error)};
  return text;
}

int read_all(int fd, size_t max_bytes, std::string &text) {
  text.clear();
  char buffer[65536];
  for (;;) {
    const ssize_t size = ::read(fd, buffer, sizeof(buffer));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno;
    if (size == 0) return 0;
    text.append(buffer, static_cast<size_t>(size));
    if (text.size() > max_bytes) return EFBIG;
  }
}

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(fd, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(size));
  }
  return 0;
}

std::string folder_of(const std::string &path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

Status make_folders(const std::string &path) {
  const auto is_folder = [](const std::filesystem::path &folder) {
    std::error_code unreadable;
    return std::filesystem::is_directory(folder, unreadable);
  };
  std::filesystem::path folder;
  for (const std::filesystem::path &name : std::filesystem::path(path)) {
    folder /= name;
    if (folder.empty() || is_folder(folder) || ::mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST) continue;
    return Error{path + ": " + error_text(errno)};
  }
  if (!is_folder(path)) return Error{path + ": " + error_text(ENOTDIR)};
  return Done{};
}

std::string state_folder() {
  if (const auto folder = environment("STATE_DIRECTORY"); !folder.empty()) return first_folder(folder);
  if (::geteuid() == 0) return "/var/lib/atalaya";
  return environment("HOME") + "/.local/state/atalaya";
}

std::string runtime_folder() {
  if (const auto folder = environment("RUNTIME_DIRECTORY"); !folder.empty()) return first_folder(folder);
  if (::geteuid() == 0) return "/run/atalaya";
  if (const auto folder = environment("XDG_RUNTIME_DIR"); !folder.empty()) return folder + "/atalaya";
  return "/tmp/atalaya-" + std::to_string(::geteuid());
}

Status check_own_folder(const std::string &path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return Error{path + ": " + error_text(errno)};
  if (!S_ISDIR(status.st_mode)) return Error{path + ": is not a folder"};
  if (status.st_uid != 0 && status.st_uid != ::geteuid())
    return Error{path + ": belongs to another user; remove it, or set $RUNTIME_DIRECTORY"};
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return Error{path + ": others may write in it; chmod go-w it, or set $RUNTIME_DIRECTORY"};
  return Done{};
}

Status check_assigned_folder(const std::string &path) {
  Status own = check_own_folder(path);
  struct stat folder {};
  struct stat parent {};
  const std::string above = std::filesystem::path(path).parent_path();
  if (own || ::lstat(path.c_str(), &folder) != 0 || ::stat(above.c_str(), &parent) != 0) return own;
  const bool roots = S_ISDIR(folder.st_mode) && parent.st_uid == 0;
  if (!roots || ((folder.st_mode | parent.st_mode) & (S_IWGRP | S_IWOTH)) != 0) return own;
  return Done{};
}

std::string binary_folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

}  // namespace atalaya::core
