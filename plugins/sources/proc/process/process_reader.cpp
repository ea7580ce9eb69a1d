// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/process/process_reader.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>

namespace atalaya::proc {
namespace {

constexpr std::array<std::string_view, 5> kFileNames = {"/stat", "/schedstat", "/io", "/io", "/status"};
constexpr int kIoAttempts = 3;

bool has_ended(int error) {
  return error == ENOENT || error == ESRCH;
}

}  // namespace

size_t default_kept_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<size_t>(std::min<rlim_t>(limit.rlim_cur, 1'000'000) / 2);
}

int ProcessReader::open() {
  folder_ = procfs::open_root(options_.root, "proc");
  return folder_ ? 0 : errno;
}

void ProcessReader::read(const Take &take) {
  ++pass_;
  seen_ = 0;
  list_processes();
  for (const int32_t pid : pids_) {
    Kept &kept = kept_[pid];
    if (!read_process(pid, kept)) continue;
    kept.pass = pass_;
    ++seen_;
    take(kept.reading);
  }
  forget_ended();
}

void ProcessReader::list_processes() {
  pids_.clear();
  ::lseek(folder_.get(), 0, SEEK_SET);
  for (;;) {
    const ssize_t size = ::getdents64(folder_.get(), buffer_.data(), buffer_.size());
    if (size <= 0) return;
    for (ssize_t at = 0; at < size;) {
      uint16_t length = 0;
      std::memcpy(&length, &buffer_[static_cast<size_t>(at) + offsetof(dirent64, d_reclen)], sizeof(length));
      uint64_t pid = 0;
      const std::string_view name(&buffer_[static_cast<size_t>(at) + offsetof(dirent64, d_name)]);
      if (name[0] != '0' && procfs::whole_number(name, pid) && pid <= std::numeric_limits<int32_t>::max())
        pids_.push_back(static_cast<int32_t>(pid));
      at += length;
    }
  }
}

bool ProcessReader::read_process(int32_t pid, Kept &kept) {
  const procfs::StatMark before = kept.mark;
  if (!read_stat(pid, kept)) return false;
  if (has_not_run(pid, kept, before)) return true;
  if (!read_io(pid, kept)) return false;
  const procfs::FileText status = read_file(pid, kept, kStatus);
  if (status.error == ESRCH) return false;
  parse_status(status.text, kept.reading);
  if (kept.reading.gauges.get(procfs::Gauge::threads) == 1) return true;
  // These numbers belong to the main thread: they are those of the process only while it has one thread.
  kept.reading.counters.forget(procfs::Counter::switches_voluntary);
  kept.reading.counters.forget(procfs::Counter::switches_involuntary);
  return true;
}

bool ProcessReader::read_stat(int32_t pid, Kept &kept) {
  procfs::FileText stat = read_file(pid, kept, kStat);
  if (stat.error == ESRCH && kept.pass != 0) {
    // The process of the kept descriptors has ended; another one may have its pid.
    close(kept);
    stat = read_file(pid, kept, kStat);
  }
  if (!stat.ok()) {
    errors_.denied += has_ended(stat.error) ? 0 : 1;
    return false;
  }
  const uint64_t start_before = kept.reading.start_ns;
  kept.reading.pid = pid;
  kept.reading.monotonic_ns = options_.clock();
  if (!parse_stat(stat.text, options_.ticks_per_second, kept.reading, kept.mark)) {
    ++errors_.malformed;
    return false;
  }
  // While the kernel removes a process it prints zeros, also for what the process reaped.
  if (kept.reading.gauges.get(procfs::Gauge::threads) == 0) return false;
  if (kept.reading.start_ns != start_before) {
    kept.denied_io = kept.threaded = kept.io_from_main_thread = false;
    kept.ran_ns = kept.io_reaped = kept.io_bases = 0;
  }
  return true;
}

// Reading io and status costs more than stat, and most processes of a host sleep. These files change only when the process runs,
// except its memory, which the kernel may reclaim; and stat shows memory.
bool ProcessReader::has_not_run(int32_t pid, Kept &kept, const procfs::StatMark &mark_before) {
  const uint64_t ran_before = kept.ran_ns;
  // Other threads have a file each: too many to read.
  const bool alone = kept.reading.gauges.get(procfs::Gauge::threads) == 1;
  kept.ran_ns = parse_schedstat(alone ? read_file(pid, kept, kSchedstat).text : std::string_view(), kept.reading);
  // The counter of a process that is on a CPU lags.
  return kept.ran_ns != 0 && kept.ran_ns == ran_before && kept.mark == mark_before &&
         kept.reading.gauges.get(procfs::Gauge::state) != 'R';
}

// The kernel adds the I/O of a reaped child to that of its parent. It does not add it to that of a thread, and the mark shows when
// it did: between readings with the same mark the process has grown by its own I/O.
bool ProcessReader::read_io(int32_t pid, Kept &kept) {
  kept.threaded = kept.threaded || kept.reading.gauges.get(procfs::Gauge::threads) != 1;
  for (int attempt = 0; attempt < kIoAttempts && !kept.denied_io; ++attempt) {
    const bool alone = kept.reading.gauges.get(procfs::Gauge::threads) == 1;
    if (alone && kept.mark.reaped != 0 && read_io_file(pid, kept, kThreadIo)) return true;
    const uint64_t reaped = kept.mark.reaped, start_ns = kept.reading.start_ns;
    if (!read_io_file(pid, kept, kIo)) break;
    if (!read_stat(pid, kept)) return false;
    if (kept.mark.reaped == reaped && kept.reading.start_ns == start_ns) return true;
  }
  parse_io({}, kept.reading);
  return true;
}

bool ProcessReader::read_io_file(int32_t pid, Kept &kept, File file) {
  const procfs::FileText io = read_file(pid, kept, file);
  if (io.error == EACCES || io.error == EPERM) {
    kept.denied_io = true;
    if (errors_.denied_io++ == 0) errors_.denied_io_pid = pid;
  }
  if (!io.ok()) return false;
  parse_io(io.text, kept.reading);
  set_io_basis(kept, file == kThreadIo);
  return true;
}

void ProcessReader::set_io_basis(Kept &kept, bool of_thread) {
  const uint64_t reaped = of_thread ? 0 : kept.mark.reaped;
  const bool same = of_thread == kept.io_from_main_thread && reaped == kept.io_reaped;
  kept.io_from_main_thread = of_thread;
  kept.io_reaped = reaped;
  uint32_t &basis = kept.reading.io_basis;
  if (!of_thread && reaped == 0)
    basis = procfs::kIoSinceStart;
  else if (of_thread && !kept.threaded)
    basis = procfs::kIoOfMainThread;
  else if (!same || basis <= procfs::kIoOfMainThread)
    basis = procfs::kIoOfMainThread + ++kept.io_bases;
}

procfs::FileText ProcessReader::read_file(int32_t pid, Kept &kept, File file) {
  core::Descriptor &descriptor = kept.files[file];
  if (descriptor) return procfs::read_once(descriptor.get(), buffer_);
  std::array<char, 64> path{};
  char *at = std::to_chars(path.data(), path.data() + 11, pid).ptr;
  const auto append = [&at](std::string_view text) { at = std::copy(text.begin(), text.end(), at); };
  if (file == kThreadIo) {
    append("/task/");
    at = std::to_chars(at, at + 11, pid).ptr;
  }
  append(kFileNames[file]);
  core::Descriptor opened(::openat(folder_.get(), path.data(), O_RDONLY | O_CLOEXEC));
  if (!opened) return {{}, errno};
  const procfs::FileText text = procfs::read_once(opened.get(), buffer_);
  // First come, first kept: each pass reads all processes in order, so evicting the least recently used descriptor would always
  // evict the next one needed.
  if (text.ok() && kept_files_ < options_.max_kept_files) {
    descriptor = std::move(opened);
    ++kept_files_;
  }
  return text;
}

void ProcessReader::close(Kept &kept) {
  for (core::Descriptor &file : kept.files) {
    if (!file) continue;
    file.reset();
    --kept_files_;
  }
}

void ProcessReader::forget_ended() {
  if (kept_.size() == seen_) return;  // the usual case, without a walk through cold memory
  for (auto at = kept_.begin(); at != kept_.end();) {
    if (at->second.pass == pass_) {
      ++at;
      continue;
    }
    close(at->second);
    at = kept_.erase(at);
  }
}

bool ProcessReader::uptime(uint64_t &ns) {
  if (!uptime_) uptime_ = core::Descriptor(::openat(folder_.get(), "uptime", O_RDONLY | O_CLOEXEC));
  if (!uptime_) return false;
  const procfs::FileText text = procfs::read_once(uptime_.get(), buffer_);
  return text.ok() && procfs::parse_uptime(text.text, ns);
}

}  // namespace atalaya::proc
