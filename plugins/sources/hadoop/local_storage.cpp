// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "core/util/files.h"
#include "plugins/sources/hadoop/storage.h"

namespace atalaya::hadoop {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string &path, int error) {
  const std::string text = path + ": " + core::error_text(error);
  if (error == ENOENT || error == ENOTDIR) throw Missing(text);
  throw Unreadable(text + (error == EACCES || error == EPERM ? "; the agent's user needs the right to read it" : ""));
}

Entry entry_of(const std::string &path, const struct stat &status) {
  return {path, static_cast<uint64_t>(status.st_size), status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1'000'000,
          S_ISDIR(status.st_mode)};
}

// Users write in these folders: links of theirs are not followed, pipes and devices not opened.
class LocalStorage final : public Storage {
 public:
  bool reads_at_end() const override { return true; }
  Entry look(const std::string &path) override {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) fail(path, errno);
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) throw Unreadable(path + " is neither a file nor a folder");
    return entry_of(path, status);
  }

  std::vector<Entry> list(const std::string &folder) override {
    std::vector<Entry> out;
    std::error_code error;
    fs::directory_iterator at(folder, error);
    for (const fs::directory_iterator end; !error && at != end; at.increment(error)) {
      struct stat status {};
      const std::string path = at->path().string();
      if (lstat(path.c_str(), &status) == 0 && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)))
        out.push_back(entry_of(path, status));
    }
    if (error) fail(folder, error.value());
    return out;
  }

  std::string read(const std::string &path, uint64_t offset, size_t size) override {
    // The path that the operator wrote may be a link itself; what is found below folders was no link when it was listed.
    const core::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
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
};

}  // namespace

std::unique_ptr<Storage> make_local_storage() {
  return std::make_unique<LocalStorage>();
}

}  // namespace atalaya::hadoop
