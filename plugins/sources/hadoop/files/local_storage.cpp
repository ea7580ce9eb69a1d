// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "core/base/files.h"
#include "plugins/sources/hadoop/files/storage.h"

namespace atalaya::hadoop {
namespace {

using core::Descriptor;

[[noreturn]] void fail(const std::string &path, int error) {
  const std::string text = path + ": " + core::error_text(error);
  if (error == ENOENT || error == ENOTDIR) throw Missing(text);
  if (error == ELOOP) throw Linked(path + " is a symbolic link; links are followed only if path names them");
  throw Unreadable(text + (error == EACCES || error == EPERM ? "; give the agent's user read access" : ""));
}

Entry entry_of(const std::string &path, const struct stat &status) {
  return {path, static_cast<uint64_t>(status.st_size), status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1'000'000,
          S_ISDIR(status.st_mode)};
}

// The part of the path below the root, without leading slashes; nothing: not below it.
std::optional<std::string_view> below(std::string_view path, std::string_view root) {
  if (root.empty() ? path.starts_with('/') : !path.starts_with(root)) return std::nullopt;
  std::string_view rest = path.substr(root.size());
  if (!rest.empty() && !root.empty() && !root.ends_with('/') && !rest.starts_with('/')) return std::nullopt;
  while (rest.starts_with('/')) rest.remove_prefix(1);
  return rest;
}

// For a link instead of a folder, openat fails with ENOTDIR.
bool is_link(int folder, const std::string &name) {
  struct stat status {};
  return fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
}

struct CloseFolder {
  void operator()(DIR *folder) const { closedir(folder); }
};

// Users can write to these folders: their links are not followed, even if created after the folder was listed; pipes and
// devices are not opened.
class LocalStorage final : public Storage {
 public:
  explicit LocalStorage(std::vector<std::string> roots) : roots_(std::move(roots)) {}

  bool reads_at_end() const override { return true; }

  Entry status_of(const std::string &path) override {
    const Descriptor at = open_below(path, O_PATH);
    struct stat status {};
    if (!at || fstat(at.get(), &status) != 0) fail(path, errno);
    if (S_ISLNK(status.st_mode)) fail(path, ELOOP);
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) throw Unreadable(path + " is neither a file nor a folder");
    return entry_of(path, status);
  }

  std::vector<Entry> list(const std::string &folder) override {
    Descriptor at = open_below(folder, O_RDONLY | O_DIRECTORY);
    const std::unique_ptr<DIR, CloseFolder> entries(at ? fdopendir(at.get()) : nullptr);
    if (!entries) fail(folder, errno);
    at.release();
    const std::string prefix = folder.ends_with('/') ? folder : folder + "/";
    std::vector<Entry> out;
    errno = 0;
    while (const dirent *entry = readdir(entries.get())) {
      const std::string name = entry->d_name;
      struct stat status {};
      if (name != "." && name != ".." && fstatat(dirfd(entries.get()), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
          (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)))
        out.push_back(entry_of(prefix + name, status));
      errno = 0;
    }
    if (errno != 0) fail(folder, errno);
    return out;
  }

  std::string read(const std::string &path, uint64_t offset, size_t size) override {
    const Descriptor file = open_below(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    struct stat status {};
    if (!file || fstat(file.get(), &status) != 0) fail(path, errno);
    if (!S_ISREG(status.st_mode)) throw Unreadable(path + " is not a file");
    std::string out(size, '\0');
    size_t got = 0;
    while (got < size) {
      const ssize_t n = pread(file.get(), out.data() + got, size - got, static_cast<off_t>(offset + got));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail(path, errno);
      if (n == 0) break;
      got += static_cast<size_t>(n);
    }
    out.resize(got);
    return out;
  }

 private:
  // The longest root that contains the path; the path itself if none does.
  std::pair<std::string, std::string_view> split(const std::string &path) const {
    std::pair<std::string, std::string_view> out{path, {}};
    bool any = false;
    for (const std::string &root : roots_) {
      const auto rest = below(path, root);
      if (!rest || (any && root.size() < out.first.size())) continue;
      out = {root, *rest};
      any = true;
    }
    return out;
  }

  // Opens folder by folder, so that none can be a link. Sets errno on error.
  Descriptor open_below(const std::string &path, int flags) const {
    auto [root, rest] = split(path);
    if (root.empty()) root = ".";
    if (rest.empty()) return Descriptor(open(root.c_str(), flags | O_CLOEXEC));
    Descriptor at(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    while (at && !rest.empty()) {
      const std::string name(rest.substr(0, rest.find('/')));
      rest.remove_prefix(name.size());
      while (rest.starts_with('/')) rest.remove_prefix(1);
      const int how = rest.empty() ? flags : O_PATH | O_DIRECTORY;
      const int next = openat(at.get(), name.c_str(), how | O_NOFOLLOW | O_CLOEXEC);
      const int error = next < 0 && errno == ENOTDIR && is_link(at.get(), name) ? ELOOP : errno;
      at = Descriptor(next);
      errno = error;
    }
    return at;
  }

  const std::vector<std::string> roots_;
};

}  // namespace

std::unique_ptr<Storage> make_local_storage(std::vector<std::string> roots) {
  return std::make_unique<LocalStorage>(std::move(roots));
}

}  // namespace atalaya::hadoop
