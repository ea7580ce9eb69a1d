// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/perf/wait_owner.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace atalaya::perf {
namespace {

enum class Cause : uint8_t { unknown, thread, timer, disk, network, interrupt };
using WakerFunction = std::pair<std::string_view, Cause>;

// Kernel functions (Linux 5.10 to 6.18) that lead to the end of a wait; sorted by name.
constexpr std::array kWakers = std::to_array<WakerFunction>({
    {"__do_softirq", Cause::interrupt},                // kernel/softirq.c
    {"__irq_exit_rcu", Cause::interrupt},              // kernel/softirq.c
    {"alarmtimer_fired", Cause::timer},                // kernel/time/alarmtimer.c
    {"asm_common_interrupt", Cause::interrupt},        // arch/x86
    {"bio_endio", Cause::disk},                        // block/bio.c
    {"blk_mq_end_request", Cause::disk},               // block/blk-mq.c
    {"blk_mq_put_tag", Cause::disk},                   // block/blk-mq-tag.c
    {"blk_update_request", Cause::disk},               // block/blk-mq.c
    {"common_interrupt", Cause::interrupt},            // arch/x86
    {"el0_interrupt", Cause::interrupt},               // arch/arm64
    {"el1_interrupt", Cause::interrupt},               // arch/arm64
    {"end_buffer_async_write", Cause::disk},           // fs/buffer.c
    {"folio_end_read", Cause::disk},                   // mm/filemap.c
    {"folio_end_writeback", Cause::disk},              // mm/filemap.c
    {"handle_softirqs", Cause::interrupt},             // kernel/softirq.c
    {"hrtimer_wakeup", Cause::timer},                  // kernel/time/hrtimer.c
    {"irq_exit_rcu", Cause::interrupt},                // kernel/softirq.c
    {"it_real_fn", Cause::timer},                      // kernel/time/itimer.c
    {"jbd2_journal_commit_transaction", Cause::disk},  // fs/jbd2/commit.c
    {"posix_timer_fn", Cause::timer},                  // kernel/time/posix-timers.c
    {"process_timeout", Cause::timer},                 // kernel/time/sleep_timeout.c
    {"sk_stream_write_space", Cause::network},         // net/core/stream.c
    {"sock_def_error_report", Cause::network},         // net/core/sock.c
    {"sock_def_readable", Cause::network},             // net/core/sock.c
    {"sock_def_wakeup", Cause::network},               // net/core/sock.c
    {"sock_def_write_space", Cause::network},          // net/core/sock.c
    {"timerfd_tmrproc", Cause::timer},                 // fs/timerfd.c
});
static_assert(std::is_sorted(kWakers.begin(), kWakers.end()));

// "do_poll_[k]", "do_poll.constprop.0_[k]"
std::string_view name_of(std::string_view frame) {
  if (frame.ends_with("_[k]")) frame.remove_suffix(4);
  return frame.substr(0, frame.find('.'));
}

Cause cause_of_function(std::string_view name) {
  if (name.starts_with("sysvec_") || name.starts_with("asm_sysvec_")) return Cause::interrupt;
  const auto found = std::lower_bound(kWakers.begin(), kWakers.end(), WakerFunction{name, Cause::unknown});
  return found != kWakers.end() && found->first == name ? found->second : Cause::unknown;
}

// The innermost known function decides.
Cause cause_of(const WaitEnd &ended, const Waker &waker) {
  bool has_names = false;
  for (std::string_view rest = ended.waker_stack; !rest.empty();) {
    const size_t begin = rest.rfind(';') + 1;  // npos + 1 is 0
    const std::string_view name = name_of(rest.substr(begin));
    rest = rest.substr(0, begin == 0 ? 0 : begin - 1);
    has_names = has_names || !name.starts_with('[');
    if (const Cause cause = cause_of_function(name); cause != Cause::unknown) return cause;
  }
  if (!has_names) return Cause::unknown;
  return waker.thread == 0 ? Cause::interrupt : Cause::thread;
}

// Returns the disk: that of a finished request, or that of a journal thread, such as "jbd2/vda-8", which writes for the file
// system.
std::string disk_of(const Waker &waker) {
  constexpr std::string_view kJournal = "jbd2/";
  std::string_view name = waker.disk;
  if (waker.thread_name.starts_with(kJournal)) {
    name = waker.thread_name.substr(kJournal.size());
    name = name.substr(0, name.rfind('-'));
  }
  return name.empty() ? "disk" : "disk " + std::string(name);
}

std::string thread_of(const Waker &waker) {
  if (waker.is_kernel_thread) return "kernel thread " + std::string(waker.thread_name);
  const std::string process = std::string(waker.process_name) + "-" + std::to_string(waker.process.pid);
  const bool is_first = waker.thread == static_cast<uint32_t>(waker.process.pid);
  return is_first ? process : std::string(waker.thread_name) + " of " + process;
}

// Returns the peer of a socket. Local sockets have no address; their peer is the running thread.
std::string peer_of(const Waker &waker) {
  if (waker.remote.empty()) return waker.thread == 0 ? "network" : thread_of(waker);
  const std::string port = std::to_string(waker.port);
  if (waker.is_server && (waker.remote == "0.0.0.0" || waker.remote == "::")) return "clients of port " + port;
  if (waker.is_server) return waker.remote + " as client of port " + port;
  return (waker.remote.find(':') == std::string::npos ? waker.remote : "[" + waker.remote + "]") + ":" + port;
}

bool is_readable(std::string_view by) {
  return by.find("sock_def_readable_[k]") != std::string_view::npos;
}

}  // namespace

std::string owner_of(const WaitEnd &ended, const Waker &waker) {
  if (ended.queued) return "a CPU";
  if (!ended.has_ended) return "unknown";
  const Cause cause = cause_of(ended, waker);
  if (cause == Cause::timer) return "a timer";
  if (cause == Cause::disk || (cause != Cause::unknown && ended.reason == "disk")) return disk_of(waker);
  if (cause == Cause::network) return is_readable(ended.waker_stack) ? peer_of(waker) : "network";
  if (cause == Cause::interrupt) return "an interrupt";
  return cause == Cause::thread ? thread_of(waker) : "unknown";
}

bool is_ended_by_thread(const WaitEnd &ended, const Waker &waker) {
  return !ended.queued && ended.has_ended && ended.reason != "disk" && cause_of(ended, waker) == Cause::thread;
}

}  // namespace atalaya::perf
