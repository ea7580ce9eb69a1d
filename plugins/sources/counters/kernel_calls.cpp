// SPDX-License-Identifier: Apache-2.0
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/files.h"
#include "plugins/sources/counters/perf_calls.h"

namespace atalaya::counters {
namespace {

constexpr unsigned kFilePercent = 75;  // the rest is for sinks, stores and sockets

class KernelCalls final : public PerfCalls {
 public:
  int open(const perf_event_attr &attributes, const Scope &scope, int leader) override {
    const unsigned long flags = PERF_FLAG_FD_CLOEXEC | (scope.cgroup ? PERF_FLAG_PID_CGROUP : 0UL);
    const long event = ::syscall(SYS_perf_event_open, &attributes, scope.pid, scope.cpu, leader, flags);
    if (event < 0) return -errno;
    if (core::is_within_file_limit(static_cast<int>(event), kFilePercent)) return static_cast<int>(event);
    ::close(static_cast<int>(event));
    return -EMFILE;
  }
  ssize_t read(int event, std::span<uint64_t> words) override {
    for (;;) {
      const ssize_t size = ::read(event, words.data(), words.size_bytes());
      if (size >= 0) return size / static_cast<ssize_t>(sizeof(uint64_t));
      if (errno != EINTR) return -errno;
    }
  }
  void close(int event) override { ::close(event); }
};

}  // namespace

PerfCalls &kernel_calls() {
  static KernelCalls calls;
  return calls;
}

}  // namespace atalaya::counters
