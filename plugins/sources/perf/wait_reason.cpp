// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/perf/wait_reason.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace atalaya::perf {
namespace {

using Function = std::pair<std::string_view, std::string_view>;

// Kernel functions (Linux 5.10 to 6.18) that wait, and callers of them; sorted by name. Functions of general use, such as
// wait_woken and io_uring's, are missing: their callers decide. Compilers may inline one of a chain, so several of it are listed.
constexpr std::array kFunctions = std::to_array<Function>({
    {"__futex_wait", "futex"},                  // kernel/futex/waitwake.c
    {"__inet_stream_connect", "network"},       // net/ipv4/af_inet.c
    {"__io_schedule", "disk"},                  // kernel/sched
    {"__mutex_lock", "kernel lock"},            // kernel/locking/mutex.c
    {"__refrigerator", "stopped"},              // kernel/freezer.c
    {"__unix_dgram_recvmsg", "pipe"},           // net/unix/af_unix.c
    {"__wait_on_buffer", "disk"},               // fs/buffer.c
    {"anon_pipe_read", "pipe"},                 // fs/pipe.c, since 6.14
    {"anon_pipe_write", "pipe"},                // fs/pipe.c, since 6.14
    {"balance_dirty_pages", "disk"},            // mm/page-writeback.c
    {"bit_wait_io", "disk"},                    // kernel/sched/wait_bit.c
    {"blk_mq_get_tag", "disk"},                 // block/blk-mq-tag.c
    {"blkcg_maybe_throttle_current", "disk"},   // block/blk-cgroup.c
    {"clock_nanosleep", "sleep"},               // kernel/time
    {"common_nsleep", "sleep"},                 // kernel/time/posix-timers.c
    {"do_epoll_wait", "poll"},                  // fs/eventpoll.c
    {"do_freezer_trap", "stopped"},             // kernel/signal.c
    {"do_futex", "futex"},                      // kernel/futex
    {"do_nanosleep", "sleep"},                  // kernel/time/hrtimer.c
    {"do_poll", "poll"},                        // fs/select.c
    {"do_select", "poll"},                      // fs/select.c
    {"do_signal_stop", "stopped"},              // kernel/signal.c
    {"do_sigtimedwait", "poll"},                // kernel/signal.c
    {"do_swap_page", "memory"},                 // mm/memory.c
    {"do_sys_poll", "poll"},                    // fs/select.c
    {"do_wait", "child"},                       // kernel/exit.c
    {"ep_poll", "poll"},                        // fs/eventpoll.c
    {"folio_wait_bit_common", "disk"},          // mm/filemap.c
    {"futex_wait", "futex"},                    // kernel/futex
    {"futex_wait_multiple", "futex"},           // kernel/futex/waitwake.c
    {"futex_wait_queue", "futex"},              // kernel/futex/waitwake.c
    {"futex_wait_queue_me", "futex"},           // kernel/futex.c, before 5.16
    {"hrtimer_nanosleep", "sleep"},             // kernel/time/hrtimer.c
    {"inet_csk_accept", "network"},             // net/ipv4/inet_connection_sock.c
    {"inet_stream_connect", "network"},         // net/ipv4/af_inet.c
    {"io_schedule", "disk"},                    // kernel/sched
    {"io_schedule_timeout", "disk"},            // kernel/sched
    {"jbd2_log_wait_commit", "disk"},           // fs/jbd2/journal.c
    {"kernel_clone", "child"},                  // kernel/fork.c: vfork
    {"mem_cgroup_handle_over_high", "memory"},  // mm/memcontrol.c
    {"msleep", "sleep"},                        // kernel/time
    {"msleep_interruptible", "sleep"},          // kernel/time
    {"nfs_wait_bit_killable", "network"},       // fs/nfs
    {"pipe_read", "pipe"},                      // fs/pipe.c
    {"pipe_wait_readable", "pipe"},             // fs/pipe.c
    {"pipe_wait_writable", "pipe"},             // fs/pipe.c
    {"pipe_write", "pipe"},                     // fs/pipe.c
    {"ptrace_stop", "stopped"},                 // kernel/signal.c
    {"raw_recvmsg", "network"},                 // net/ipv4/raw.c
    {"read_events", "disk"},                    // fs/aio.c
    {"request_wait_answer", "disk"},            // fs/fuse/dev.c
    {"rpc_wait_bit_killable", "network"},       // net/sunrpc/sched.c
    {"rq_qos_wait", "disk"},                    // block/blk-rq-qos.c
    {"rwsem_down_read_slowpath", "kernel lock"},
    {"rwsem_down_write_slowpath", "kernel lock"},  // kernel/locking/rwsem.c
    {"shrink_node", "memory"},                     // mm/vmscan.c
    {"sigsuspend", "poll"},                        // kernel/signal.c
    {"sk_stream_wait_connect", "network"},         // net/core/stream.c
    {"sk_stream_wait_memory", "network"},          // net/core/stream.c
    {"sk_wait_data", "network"},                   // net/core/sock.c
    {"submit_bio_wait", "disk"},                   // block/bio.c
    {"tcp_recvmsg", "network"},                    // net/ipv4/tcp.c
    {"tcp_recvmsg_locked", "network"},             // net/ipv4/tcp.c
    {"tcp_sendmsg_locked", "network"},             // net/ipv4/tcp.c
    {"throttle_cfs_rq_work", "quota"},             // kernel/sched/fair.c, since 6.18
    {"try_to_free_mem_cgroup_pages", "memory"},    // mm/vmscan.c
    {"try_to_free_pages", "memory"},               // mm/vmscan.c
    {"udp_recvmsg", "network"},                    // net/ipv4/udp.c
    {"udpv6_recvmsg", "network"},                  // net/ipv6/udp.c
    {"unix_accept", "pipe"},                       // net/unix/af_unix.c
    {"unix_dgram_recvmsg", "pipe"},                // net/unix/af_unix.c
    {"unix_stream_data_wait", "pipe"},             // net/unix/af_unix.c
    {"unix_stream_read_generic", "pipe"},          // net/unix/af_unix.c
    {"unix_stream_sendmsg", "pipe"},               // net/unix/af_unix.c
    {"wait4", "child"},                            // kernel/exit.c
    {"wait_on_page_bit_common", "disk"},           // mm/filemap.c, before 5.16
});
static_assert(std::is_sorted(kFunctions.begin(), kFunctions.end()));

// "do_poll_[k]", "do_poll.constprop.0_[k]"
std::string_view reason_of_function(std::string_view frame) {
  const std::string_view name = frame.substr(0, std::min(frame.find('.'), frame.size() - 4));
  const auto found = std::lower_bound(kFunctions.begin(), kFunctions.end(), Function{name, {}});
  return found != kFunctions.end() && found->first == name ? found->second : std::string_view();
}

// Threads of a JVM wait in the same functions of the kernel for all reasons: at a safepoint for a collection or another operation
// of the JVM, and to sleep.
std::string_view reason_of_jvm(std::string_view frame) {
  if (frame.starts_with("SafepointSynchronize::block") || frame.starts_with("SafepointMechanism::")) return "safepoint";
  return frame == "JVM_Sleep" || frame.starts_with("JVM_Sleep_[") ? "sleep" : std::string_view();
}

}  // namespace

// The innermost known function decides.
std::string_view reason_of(std::string_view folded) {
  std::string_view reason;
  for (std::string_view rest = folded; !rest.empty();) {
    const size_t begin = rest.rfind(';') + 1;  // npos + 1 is 0
    const std::string_view frame = rest.substr(begin);
    rest = rest.substr(0, begin == 0 ? 0 : begin - 1);
    if (!frame.ends_with("_[k]")) {
      if (const std::string_view of_jvm = reason_of_jvm(frame); !of_jvm.empty()) return of_jvm;
    } else if (reason.empty()) {
      reason = reason_of_function(frame);
    }
  }
  return reason.empty() ? "other" : reason;
}

}  // namespace atalaya::perf
