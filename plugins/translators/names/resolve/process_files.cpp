// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/names/resolve/process_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <memory>
#include <string>

#include "core/base/text/text.h"
#include "plugins/shared/host/procfs/files.h"
#include "plugins/shared/host/procfs/process_stat.h"
#include "plugins/shared/protocols/hsperfdata/hsperfdata.h"

namespace atalaya::names {
namespace {

using procfs::next_word;

constexpr size_t kMaxFolders = 4096;  // maximum entries of /tmp to search

struct CloseFolder {
  void operator()(DIR *folder) const { ::closedir(folder); }
};

bool is_file_of(int file, uint32_t user) {
  struct stat info {};
  return ::fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == user;
}

core::Descriptor open_folder(int at, const char *name, int flags) {
  return core::Descriptor(::openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags));
}

}  // namespace

std::optional<ProcessStat> parse_stat(std::string_view text) {
  const auto fields = procfs::ProcessStat::parse(text);
  if (!fields || !fields->has(22)) return std::nullopt;
  ProcessStat stat{.name = fields->name(), .parent = static_cast<int32_t>((*fields)[4]), .start_ticks = (*fields)[22]};
  if ((*fields)[28] == 0) return stat;
  for (const unsigned field : {26U, 28U, 48U, 49U, 50U, 51U}) stat.image = stat.image * 0x100000001b3 + (*fields)[field];
  return stat;
}

std::optional<ProcessOwner> parse_owner(std::string_view text) {
  std::string_view users = core::line_after(text, "Uid:");
  next_word(users);
  const auto user = core::number_from<uint32_t>(next_word(users));
  if (!user) return std::nullopt;
  ProcessOwner owner{.user = *user, .inner_pid = {}};
  std::string_view pids = core::line_after(text, "NSpid:");
  for (std::string_view pid = next_word(pids); !pid.empty(); pid = next_word(pids)) owner.inner_pid = pid;
  if (!core::number_from<uint64_t>(owner.inner_pid)) owner.inner_pid = {};
  return owner;
}

ProcessFiles::ProcessFiles(int proc, int32_t pid, std::span<char, kBuffer> buffer) : buffer_(buffer) {
  std::array<char, 12> name{};
  std::to_chars(name.data(), name.data() + name.size() - 1, pid);
  folder_ = open_folder(proc, name.data(), O_PATH | O_NOFOLLOW);
}

ProcessFiles::~ProcessFiles() {
  ::explicit_bzero(buffer_.data(), touched_);
}

std::string_view ProcessFiles::read(const char *name) {
  const core::Descriptor file(::openat(folder_.get(), name, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  return file ? read_from(file.get()) : std::string_view();
}

std::string_view ProcessFiles::read_from(int file) {
  size_t used = 0;
  while (used < buffer_.size()) {
    const ssize_t size = ::read(file, buffer_.data() + used, buffer_.size() - used);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    used += static_cast<size_t>(size);
  }
  touched_ = std::max(touched_, used);
  return {buffer_.data(), used};
}

std::string_view ProcessFiles::read_link(const char *name) {
  const ssize_t size = ::readlinkat(folder_.get(), name, buffer_.data(), PATH_MAX);
  if (size <= 0) return {};
  touched_ = std::max(touched_, static_cast<size_t>(size));
  return {buffer_.data(), static_cast<size_t>(size)};
}

std::string_view ProcessFiles::working_directory() {
  return read_link("cwd");
}

std::string_view ProcessFiles::executable() {
  std::string_view path = read_link("exe");
  if (constexpr std::string_view deleted = " (deleted)"; path.ends_with(deleted)) path.remove_suffix(deleted.size());
  return path;
}

// Reads hsperfdata_USER/PID below the /tmp of the process. Containers and directory services have other user names, so all such
// folders are tried, and the file must belong to the user of the process. Links are not followed, because the process may have
// created them.
std::string_view ProcessFiles::java_command() {
  const auto owner = parse_owner(read("status"));
  if (!owner || owner->inner_pid.empty()) return {};
  const uint32_t user = owner->user;
  const std::string inner_pid(owner->inner_pid);
  const core::Descriptor root = open_folder(folder_.get(), "root", O_PATH);
  core::Descriptor tmp = root ? open_folder(root.get(), "tmp", O_NOFOLLOW) : core::Descriptor();
  if (!tmp) return {};
  const std::unique_ptr<DIR, CloseFolder> folders(::fdopendir(tmp.get()));
  if (folders == nullptr) return {};
  tmp.release();
  for (size_t i = 0; i < kMaxFolders; ++i) {
    const dirent *entry = ::readdir(folders.get());
    if (entry == nullptr) return {};
    const std::string_view name(entry->d_name);
    if (!name.starts_with("hsperfdata_")) continue;
    const core::Descriptor folder = open_folder(::dirfd(folders.get()), entry->d_name, O_PATH | O_NOFOLLOW);
    if (!folder) continue;
    const core::Descriptor file(::openat(folder.get(), inner_pid.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file || !is_file_of(file.get(), user) || !has_mapped("/" + std::string(name) + "/" + inner_pid + "\n")) continue;
    return protocols::java_command_in(read_from(file.get())).value_or(std::string_view());
  }
  return {};
}

// Whether the process maps the file: it may belong to an ended JVM, or to a JVM of another container with the same /tmp.
bool ProcessFiles::has_mapped(std::string_view line_end) {
  const core::Descriptor maps(::openat(folder_.get(), "maps", O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!maps) return false;
  size_t used = 0;
  for (;;) {
    const ssize_t size = ::read(maps.get(), buffer_.data() + used, buffer_.size() - used);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    used += static_cast<size_t>(size);
    touched_ = std::max(touched_, used);
    const std::string_view text(buffer_.data(), used);
    if (text.find(line_end) != std::string_view::npos) return true;
    // A match may start at the end of this part and continue in the next one.
    const std::string_view rest = text.substr(used - std::min(used, line_end.size()));
    std::memmove(buffer_.data(), rest.data(), rest.size());
    used = rest.size();
  }
}

}  // namespace atalaya::names
