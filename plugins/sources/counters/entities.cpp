// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/counters/entities.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "plugins/shared/host/cgroup/cgroup_reader.h"
#include "plugins/shared/host/procfs/files.h"
#include "plugins/shared/host/procfs/host_reader.h"
#include "plugins/shared/host/procfs/process_parse.h"

namespace atalaya::counters {
namespace {

constexpr size_t kMaxMounts = size_t{16} << 20;

struct FolderCloser {
  void operator()(DIR *folder) const { ::closedir(folder); }
};

// The numbers among the names of a folder's entries, ascending.
std::vector<int32_t> numbers_in(int parent, const char *path) {
  std::vector<int32_t> numbers;
  const int file = ::openat(parent, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, FolderCloser> folder(file >= 0 ? ::fdopendir(file) : nullptr);
  if (folder == nullptr) {
    if (file >= 0) ::close(file);
    return numbers;
  }
  while (const dirent *entry = ::readdir(folder.get())) {
    uint64_t number = 0;
    if (procfs::whole_number(static_cast<const char *>(entry->d_name), number) && number <= INT32_MAX)
      numbers.push_back(static_cast<int32_t>(number));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::string without_slash(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  return procfs::unescape_mount(path);
}

}  // namespace

ProcessList::ProcessList(const std::string &root, io::MatcherList names)
    : folder_(procfs::open_root(root, "proc")), names_(std::move(names)), ticks_(static_cast<uint64_t>(::sysconf(_SC_CLK_TCK))) {}

const std::vector<Process> &ProcessList::read() {
  found_.clear();
  std::array<char, 1024> buffer{};  // one line of stat
  for (const int32_t pid : numbers_in(folder_.get(), ".")) {
    const procfs::FileText stat = procfs::read_path(folder_.get(), (std::to_string(pid) + "/stat").c_str(), buffer);
    if (stat.ok()) take(pid, stat.text);
  }
  return found_;
}

void ProcessList::take(int32_t pid, std::string_view stat) {
  procfs::ProcessReading reading;
  procfs::StatMark mark;
  if (!procfs::parse_stat(stat, ticks_, reading, mark)) return;
  const std::string_view name = reading.name.text();
  if (names_.matches(name)) found_.push_back({pid, reading.start_ns, std::string(name)});
}

std::vector<int32_t> ProcessList::threads(int32_t pid) const {
  return numbers_in(folder_.get(), (std::to_string(pid) + "/task").c_str());
}

CgroupList::CgroupList(const std::string &root, io::MatcherList paths, int64_t depth)
    : root_(procfs::open_root(root, "")), paths_(std::move(paths)), walk_(depth) {
  if (auto mounts = core::read_file(root + "/proc/self/mountinfo", kMaxMounts)) tree_ = perf_tree(*mounts);
}

void CgroupList::read(const Visit &visit) {
  if (!tree_) return;
  walk_.run(root_.get(), *tree_, [&](std::string_view path, int folder) {
    struct stat info {};
    if (paths_.matches(path) && ::fstat(folder, &info) == 0) visit(path, info.st_ino, folder);
    return true;
  });
}

std::optional<std::string> perf_tree(std::string_view mountinfo) {
  std::vector<procfs::Mount> mounts;
  procfs::parse_mountinfo(mountinfo, mounts);
  std::optional<std::string> unified;
  for (const procfs::Mount &mount : mounts) {
    if (mount.type == "cgroup" && cgroup::has_option(mount.super_options, "perf_event")) return without_slash(mount.mount_point);
    if (mount.type == "cgroup2" && !unified) unified = without_slash(mount.mount_point);
  }
  return unified;
}

}  // namespace atalaya::counters
