// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/symbols/process/process_memory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "core/base/files.h"
#include "plugins/shared/code/symbols/process/process_root.h"

namespace atalaya::symbols {

bool ProcessMemory::refresh(const ProcessMark &mark) {
  if (!maps_.refresh(mark)) return false;
  status_ = read_status(maps_.pid());
  refresh_perf_map(mark);
  return true;
}

// Opens the perf map in the process's own /tmp, named by its pid in its namespace. Accepts only a regular file of the process's
// user or of root, and none from before the process started: such a file is of another process that had the pid.
void ProcessMemory::refresh_perf_map(const ProcessMark &mark) {
  static constexpr int64_t kClockStep = 20'000'000;  // maximum lag between times of files and processes
  if (!status_ || status_->inner_pid <= 0) return;
  const std::string path = "tmp/perf-" + std::to_string(status_->inner_pid) + ".map";
  const core::Descriptor found = ProcessRoot(maps_.pid()).open(path, O_PATH | O_NOFOLLOW);
  struct stat info {};
  if (!found || ::fstat(found.get(), &info) != 0) return;
  if (info.st_uid != status_->user && info.st_uid != 0) return;
  const int64_t changed_ns = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  if (changed_ns < start_time_ns(mark) - kClockStep) return;
  if (info.st_size == perf_map_size_ && info.st_mtim.tv_sec == perf_map_changed_.tv_sec &&
      info.st_mtim.tv_nsec == perf_map_changed_.tv_nsec)
    return;
  const core::Descriptor file = reopened_if_regular(found);
  if (!file) return;
  perf_map_size_ = info.st_size;
  perf_map_changed_ = info.st_mtim;
  read_perf_map(file.get(), info.st_size);
}

// Reads the end of a too long file, because runtimes append.
void ProcessMemory::read_perf_map(int file, int64_t size) {
  const auto part = std::min<int64_t>(size, int64_t{kMaxPerfMap});
  const int64_t from = size - part;
  std::string text(static_cast<size_t>(part), '\0');
  size_t used = 0;
  for (ssize_t got = 1; got > 0 && used < text.size(); used += static_cast<size_t>(std::max<ssize_t>(got, 0)))
    got = ::pread(file, text.data() + used, text.size() - used, static_cast<off_t>(from) + static_cast<off_t>(used));
  std::string_view lines = std::string_view(text).substr(0, used);
  if (from > 0) lines.remove_prefix(std::min(lines.find('\n'), lines.size() - 1) + 1);
  perf_map_ = PerfMap(lines);
}

Place ProcessMemory::find(uint64_t address, ElfFiles &files) const {
  Place place{.mapping = maps_.at(address)};
  if (place.mapping == nullptr) return place;
  const Mapping &mapping = *place.mapping;
  if (mapping.path == "[vdso]") {
    place.name = files.name_in_vdso(mapping, address);
    return place;
  }
  if (!mapping.is_file()) {
    place.kind = CodeKind::runtime;
    place.name = perf_map_.find(address);
    return place;
  }
  place.name = files.name_at(maps_.pid(), mapping, address);
  // Node's built-in code is in its executable and named in its perf map.
  if (place.name.empty() && perf_map_.size() > 0) {
    place.name = perf_map_.find(address);
    if (!place.name.empty()) place.kind = CodeKind::runtime;
  }
  return place;
}

}  // namespace atalaya::symbols
