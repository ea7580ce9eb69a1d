// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/procfs/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <memory>

#include "core/base/files.h"
#include "core/base/text/text.h"

namespace atalaya::procfs {
namespace {

constexpr size_t kLine = 65536;
constexpr size_t kMaxNames = 10000;

std::string below(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  return path.empty() ? "." : std::string(path);
}

bool is_missing(int error) {
  return error == ENOENT || error == ENOTDIR;
}

struct FolderCloser {
  void operator()(DIR *folder) const { ::closedir(folder); }
};

}  // namespace

bool Tree::Text::missing() const {
  return is_missing(error);
}
bool Tree::Listing::missing() const {
  return is_missing(error);
}

core::Status Tree::open() {
  folder_ = core::Descriptor(::open(root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (folder_) return core::Done{};
  return core::Error{"cannot open root \"" + root_ + "\": " + core::error_text(errno) + "; name a folder that holds proc and sys"};
}

std::string Tree::full_path(std::string_view path) const {
  return (root_ == "/" ? "" : root_) + "/" + std::string(path);
}

Tree::Text Tree::read(std::string_view path, size_t max_bytes) const {
  const core::Descriptor file(::openat(folder_.get(), below(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return {{}, errno};
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return {{}, errno};
  if (!S_ISREG(info.st_mode)) return {{}, S_ISDIR(info.st_mode) ? EISDIR : EINVAL};
  Text result;
  result.error = core::read_all(file.get(), max_bytes, result.text);
  return result;
}

std::string Tree::line(std::string_view path) const {
  const Text text = read(path, kLine);
  return text.ok() ? std::string(core::trimmed(text.text)) : std::string();
}

std::optional<int64_t> Tree::number(std::string_view path) const {
  return core::parse_number(line(path));
}

Tree::Listing Tree::list(std::string_view path, std::string_view prefix) const {
  Listing result;
  const int file = ::openat(folder_.get(), below(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, FolderCloser> folder(file >= 0 ? ::fdopendir(file) : nullptr);
  if (folder == nullptr) {
    result.error = errno;
    if (file >= 0) ::close(file);
    return result;
  }
  while (const dirent *entry = ::readdir(folder.get())) {
    const std::string_view name = static_cast<const char *>(entry->d_name);
    if (name == "." || name == ".." || !name.starts_with(prefix)) continue;
    if (result.names.size() < kMaxNames) result.names.emplace_back(name);
  }
  std::sort(result.names.begin(), result.names.end(),
            [](const std::string &a, const std::string &b) { return a.size() != b.size() ? a.size() < b.size() : a < b; });
  return result;
}

bool Tree::is_folder(std::string_view path) const {
  struct stat info {};
  return ::fstatat(folder_.get(), below(path).c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
}

bool Tree::has(std::string_view path) const {
  struct stat info {};
  return ::fstatat(folder_.get(), below(path).c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

std::string Tree::link_name(std::string_view path) const {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = ::readlinkat(folder_.get(), below(path).c_str(), target.data(), target.size());
  if (size <= 0) return {};
  const std::string_view text(target.data(), static_cast<size_t>(size));
  return std::string(text.substr(text.rfind('/') + 1));
}

std::optional<std::pair<uint64_t, uint64_t>> Tree::identity(std::string_view path) const {
  struct stat info {};
  if (::fstatat(folder_.get(), below(path).c_str(), &info, 0) != 0) return std::nullopt;
  return std::pair<uint64_t, uint64_t>(info.st_dev, info.st_ino);
}

}  // namespace atalaya::procfs
