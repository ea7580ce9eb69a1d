// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/process/process_reader.h"

#include <dirent.h>
#include <fcntl.h>
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
constexpr unsigned kKeptFilePercent = 50;  // of the limit of open files; the others are for sinks, stores and other sources

bool has_ended(int error) {
  return error == ENOENT || error == ESRCH;
}

}  // namespace

int ProcessReader::open() {
  folder_ = procfs::open_root(options_.root, "proc");
  return folder_ ? 0 : errno;
}

void ProcessReader::read(const Callback &take) {
  ++pass_;
  seen_ = 0;
  list_processes();
  for (const int32_t pid : pids_) {
    ProcessState &state = states_[pid];
    if (!read_process(pid, state)) continue;
    state.pass = pass_;
    ++seen_;
    take(state.reading);
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

bool ProcessReader::read_process(int32_t pid, ProcessState &state) {
  const procfs::StatMark before = state.mark;
  if (!read_stat(pid, state)) return false;
  if (has_not_run(pid, state, before)) return true;
  if (!read_io(pid, state)) return false;
  const procfs::FileText status = read_file(pid, state, kStatus);
  if (status.error == ESRCH) return false;
  parse_status(status.text, state.reading);
  if (state.reading.gauges.get(procfs::Gauge::threads) == 1) return true;
  // These counters are of the main thread only, so they are valid only while the process has one thread.
  state.reading.counters.forget(procfs::Counter::switches_voluntary);
  state.reading.counters.forget(procfs::Counter::switches_involuntary);
  return true;
}

bool ProcessReader::read_stat(int32_t pid, ProcessState &state) {
  procfs::FileText stat = read_file(pid, state, kStat);
  if (stat.error == ESRCH && state.pass != 0) {
    // The process of the kept descriptors has ended; another one may have its pid.
    close(state);
    stat = read_file(pid, state, kStat);
  }
  if (!stat.ok()) {
    errors_.denied += has_ended(stat.error) ? 0 : 1;
    return false;
  }
  const uint64_t start_before = state.reading.start_ns;
  state.reading.pid = pid;
  state.reading.monotonic_ns = options_.clock();
  if (!parse_stat(stat.text, options_.ticks_per_second, state.reading, state.mark)) {
    ++errors_.malformed;
    return false;
  }
  // While the kernel removes a process it prints zeros, also for what the process reaped.
  if (state.reading.gauges.get(procfs::Gauge::threads) == 0) return false;
  if (state.reading.start_ns != start_before) {
    state.denied_io = state.threaded = state.io_from_main_thread = false;
    state.ran_ns = state.io_reaped = state.io_bases = 0;
  }
  return true;
}

// Reading io and status costs more than stat, and most processes of a host sleep. These files change only when the process runs,
// except its memory, which the kernel may reclaim; and stat shows memory.
bool ProcessReader::has_not_run(int32_t pid, ProcessState &state, const procfs::StatMark &mark_before) {
  const uint64_t ran_before = state.ran_ns;
  // Each thread has its own file, so a process with several threads would need too many reads.
  const bool alone = state.reading.gauges.get(procfs::Gauge::threads) == 1;
  state.ran_ns = parse_schedstat(alone ? read_file(pid, state, kSchedstat).text : std::string_view(), state.reading);
  // The kernel updates the CPU time of a running process late.
  return state.ran_ns != 0 && state.ran_ns == ran_before && state.mark == mark_before &&
         state.reading.gauges.get(procfs::Gauge::state) != 'R';
}

// The kernel adds the I/O of a reaped child to that of its parent. It does not add it to that of a thread, and the mark shows when
// it did: between readings with the same mark the process has grown by its own I/O.
bool ProcessReader::read_io(int32_t pid, ProcessState &state) {
  state.threaded = state.threaded || state.reading.gauges.get(procfs::Gauge::threads) != 1;
  for (int attempt = 0; attempt < kIoAttempts && !state.denied_io; ++attempt) {
    const bool alone = state.reading.gauges.get(procfs::Gauge::threads) == 1;
    if (alone && state.mark.reaped != 0 && read_io_file(pid, state, kThreadIo)) return true;
    const uint64_t reaped = state.mark.reaped, start_ns = state.reading.start_ns;
    if (!read_io_file(pid, state, kIo)) break;
    if (!read_stat(pid, state)) return false;
    if (state.mark.reaped == reaped && state.reading.start_ns == start_ns) return true;
  }
  parse_io({}, state.reading);
  return true;
}

bool ProcessReader::read_io_file(int32_t pid, ProcessState &state, File file) {
  const procfs::FileText io = read_file(pid, state, file);
  if (io.error == EACCES || io.error == EPERM) {
    state.denied_io = true;
    if (errors_.denied_io++ == 0) errors_.denied_io_pid = pid;
  }
  if (!io.ok()) return false;
  parse_io(io.text, state.reading);
  set_io_basis(state, file == kThreadIo);
  return true;
}

void ProcessReader::set_io_basis(ProcessState &state, bool of_thread) {
  const uint64_t reaped = of_thread ? 0 : state.mark.reaped;
  const bool same = of_thread == state.io_from_main_thread && reaped == state.io_reaped;
  state.io_from_main_thread = of_thread;
  state.io_reaped = reaped;
  uint32_t &basis = state.reading.io_basis;
  if (!of_thread && reaped == 0)
    basis = procfs::kIoSinceStart;
  else if (of_thread && !state.threaded)
    basis = procfs::kIoOfMainThread;
  else if (!same || basis <= procfs::kIoOfMainThread)
    basis = procfs::kIoOfMainThread + ++state.io_bases;
}

procfs::FileText ProcessReader::read_file(int32_t pid, ProcessState &state, File file) {
  core::Descriptor &descriptor = state.files[file];
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
  if (text.ok() && core::is_within_file_limit(opened.get(), kKeptFilePercent)) descriptor = std::move(opened);
  return text;
}

void ProcessReader::close(ProcessState &state) {
  for (core::Descriptor &file : state.files) file.reset();
}

void ProcessReader::forget_ended() {
  if (states_.size() == seen_) return;  // the usual case, without a walk through cold memory
  for (auto at = states_.begin(); at != states_.end();) {
    if (at->second.pass == pass_) {
      ++at;
      continue;
    }
    close(at->second);
    at = states_.erase(at);
  }
}

bool ProcessReader::uptime(uint64_t &ns) {
  if (!uptime_) uptime_ = core::Descriptor(::openat(folder_.get(), "uptime", O_RDONLY | O_CLOEXEC));
  if (!uptime_) return false;
  const procfs::FileText text = procfs::read_once(uptime_.get(), buffer_);
  return text.ok() && procfs::parse_uptime(text.text, ns);
}

}  // namespace atalaya::proc
