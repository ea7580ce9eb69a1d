// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/process/process_extras.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "core/base/text/text.h"

namespace atalaya::proc {
namespace {

// Writes "PID/file" and a NUL to the buffer.
const char *process_path(int32_t pid, std::string_view file, std::array<char, 32> &buffer) {
  char *end = std::to_chars(buffer.data(), buffer.data() + 11, pid).ptr;
  *end++ = '/';
  std::memcpy(end, file.data(), file.size());
  end[file.size()] = 0;
  return buffer.data();
}

double busy(const Process &process) {
  return process.rate(procfs::Counter::user_ns) + process.rate(procfs::Counter::kernel_ns);
}

}  // namespace

void Users::refresh() {
  struct stat info {};
  if (::stat(path_.c_str(), &info) != 0) return;
  if (info.st_mtim.tv_sec == changed_.tv_sec && info.st_mtim.tv_nsec == changed_.tv_nsec) return;
  changed_ = info.st_mtim;
  const auto file = core::read_file(path_, size_t{16} << 20);
  if (!file) return;
  names_.clear();
  std::string_view text = file.value();
  while (!text.empty()) {
    std::string_view line = core::cut_at(text, '\n');
    const std::string_view name = core::cut_at(line, ':');
    core::cut_at(line, ':');
    uint64_t id = 0;
    if (!name.empty() && procfs::whole_number(core::cut_at(line, ':'), id)) names_.try_emplace(static_cast<int64_t>(id), name);
  }
}

std::string_view Users::name(int64_t id) {
  const auto found = names_.find(id);
  return found != names_.end() ? found->second : names_.emplace(id, std::to_string(id)).first->second;
}

const ProcessTexts &ProcessTextCache::get(int folder, const Process &process) {
  Entry &entry = entries_[process.now.pid];
  if (entry.start_ns != process.now.start_ns || !(entry.name == process.now.name)) read(folder, process, entry);
  return entry.texts;
}

void ProcessTextCache::refresh(int folder, const Process &process) {
  if (reads()) read(folder, process, entries_[process.now.pid]);
}

void ProcessTextCache::read(int folder, const Process &process, Entry &entry) {
  entry.start_ns = process.now.start_ns;
  entry.name = process.now.name;
  std::array<char, 32> path{};
  if (selection_.cgroup)
    entry.texts.cgroup = parse_cgroup(procfs::read_path(folder, process_path(process.now.pid, "cgroup", path), buffer_).text);
  entry.texts.command = read_command(folder, process);
}

// The buffer is wiped: it may hold secrets.
std::string ProcessTextCache::read_command(int folder, const Process &process) {
  if (!selection_.commands.allows(process.now.name.text())) return {};
  std::array<char, 32> path{};
  const procfs::FileText file = procfs::read_path(folder, process_path(process.now.pid, "cmdline", path), buffer_);
  std::string command = procfs::redacted_command(file.text, file.text.size() == buffer_.size(), selection_.commands.redact);
  ::explicit_bzero(buffer_.data(), file.text.size());
  return command;
}

void ProcessTextCache::forget_ended(const ProcessModel &model) {
  if (entries_.size() == model.live().size()) return;
  for (auto at = entries_.begin(); at != entries_.end();)
    at = model.find(at->first) != nullptr ? std::next(at) : entries_.erase(at);
}

const std::vector<const Process *> &ExpensiveReadSelector::choose(std::span<const Process *const> live) {
  candidates_.assign(live.begin(), live.end());
  chosen_.clear();
  const size_t busiest = std::min(budget_ / 2, candidates_.size());
  const auto middle = candidates_.begin() + static_cast<ptrdiff_t>(busiest);
  std::partial_sort(candidates_.begin(), middle, candidates_.end(),
                    [](const Process *a, const Process *b) { return busy(*a) > busy(*b); });
  chosen_.assign(candidates_.begin(), middle);
  // Adds the other processes by pid, starting after the last pid of the previous turn.
  const auto later = [this](const Process *process) {
    return static_cast<uint32_t>(process->now.pid) - static_cast<uint32_t>(last_pid_) - 1;
  };
  const size_t others = std::min(budget_ - budget_ / 2, candidates_.size() - busiest);
  const auto end = middle + static_cast<ptrdiff_t>(others);
  std::partial_sort(middle, end, candidates_.end(), [&](const Process *a, const Process *b) { return later(a) < later(b); });
  if (others > 0) last_pid_ = (*(end - 1))->now.pid;
  chosen_.insert(chosen_.end(), middle, end);
  return chosen_;
}

std::optional<uint64_t> count_open_files(int folder, int32_t pid) {
  std::array<char, 32> path{};
  process_path(pid, "fd", path);
  struct statfs system {};
  struct stat info {};
  const core::Descriptor descriptors(::openat(folder, path.data(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptors || ::fstat(descriptors.get(), &info) != 0 || ::fstatfs(descriptors.get(), &system) != 0) return std::nullopt;
  // Since Linux 6.2 (f1f1f2569901) the folder's size is the number of descriptors; before, it is 0 and they must be listed.
  if (system.f_type == PROC_SUPER_MAGIC && info.st_size > 0) return static_cast<uint64_t>(info.st_size);
  uint64_t count = 0;
  std::array<char, 8192> buffer{};
  for (;;) {
    const ssize_t size = ::getdents64(descriptors.get(), buffer.data(), buffer.size());
    if (size <= 0) return size < 0 ? std::nullopt : std::optional(count);
    for (ssize_t at = 0; at < size;) {
      uint16_t length = 0;
      std::memcpy(&length, &buffer[static_cast<size_t>(at) + offsetof(dirent64, d_reclen)], sizeof(length));
      count += buffer[static_cast<size_t>(at) + offsetof(dirent64, d_name)] == '.' ? 0 : 1;
      at += length;
    }
  }
}

}  // namespace atalaya::proc
