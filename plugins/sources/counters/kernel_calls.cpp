// SPDX-License-Identifier: Apache-2.0
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "plugins/sources/counters/perf_calls.h"

namespace atalaya::counters {
namespace {

class KernelCalls final : public PerfCalls {
 public:
  int open(const perf_event_attr &attributes, const Scope &scope, int leader) override {
    const unsigned long flags = PERF_FLAG_FD_CLOEXEC | (scope.cgroup ? PERF_FLAG_PID_CGROUP : 0UL);
    const long event = ::syscall(SYS_perf_event_open, &attributes, scope.pid, scope.cpu, leader, flags);
    return event < 0 ? -errno : static_cast<int>(event);
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
