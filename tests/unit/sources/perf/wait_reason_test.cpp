// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/perf/wait_reason.h"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <utility>

namespace atalaya::perf {

TEST_CASE("the innermost known function of the kernel is the reason") {
  constexpr std::array<std::pair<const char *, const char *>, 12> kStacks = {{
      {"main;read;ksys_read_[k];anon_pipe_read_[k];schedule_[k]", "pipe"},
      {"main;do_syscall_64_[k];do_futex_[k];futex_wait_[k];schedule_[k];__schedule_[k]", "futex"},
      {"main;do_poll.constprop.0_[k];schedule_hrtimeout_range_[k]", "poll"},
      {"main;vfs_read_[k];filemap_read_[k];folio_wait_bit_common_[k];io_schedule_[k];schedule_[k]", "disk"},
      {"main;do_fault_[k];do_swap_page_[k];schedule_[k]", "memory"},
      {"main;tcp_recvmsg_[k];sk_wait_data_[k];wait_woken_[k];schedule_timeout_[k]", "network"},
      {"main;hrtimer_nanosleep_[k];do_nanosleep_[k];schedule_[k]", "sleep"},
      {"main;throttle_cfs_rq_work_[k];schedule_[k]", "quota"},
      {"main;do_wait_[k];schedule_[k]", "child"},
      {"worker_thread_[k];schedule_[k]", "other"},
      {"do_wait;main", "other"},  // a function of the program
      {"", "other"},
  }};
  for (const auto &[stack, reason] : kStacks) CHECK_MESSAGE(reason_of(stack) == reason, stack);
}

TEST_CASE("a JVM's own functions distinguish its waits") {
  CHECK(reason_of("start_thread;SafepointSynchronize::block;syscall;futex_wait_[k];schedule_[k]") == "safepoint");
  CHECK(reason_of("start_thread;JVM_Sleep;pthread_cond_timedwait;futex_wait_[k];schedule_[k]") == "sleep");
  CHECK(reason_of("start_thread;Unsafe_Park;futex_wait_[k];schedule_[k]") == "futex");
}

}  // namespace atalaya::perf
