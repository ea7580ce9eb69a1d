// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/perf/wait_owner.h"

#include <doctest/doctest.h>

#include <string>

namespace atalaya::perf {
namespace {

Waker thread(uint32_t number = 813) {
  return {.process = {812, 5, 7}, .thread = number, .process_name = "app", .thread_name = "holder"};
}

std::string owner(const char *by, const Waker &waker, const char *reason = "futex") {
  return owner_of({.reason = reason, .waker_stack = by}, waker);
}

TEST_CASE("a thread that wakes another one by its own code is the owner") {
  constexpr const char *kFutex = "do_syscall_64_[k];do_futex_[k];futex_wake_[k];wake_up_q_[k];try_to_wake_up_[k]";
  CHECK(owner(kFutex, thread()) == "holder of app-812");
  CHECK(owner(kFutex, thread(812)) == "app-812");  // its first thread
  CHECK(is_ended_by_thread({.reason = "futex", .waker_stack = kFutex}, thread()));
  Waker kernel = thread();
  kernel.is_kernel_thread = true;
  kernel.thread_name = "kworker/0:1";
  CHECK(owner("kthread_[k];worker_thread_[k];try_to_wake_up_[k]", kernel) == "kernel thread kworker/0:1");
}

TEST_CASE("a thread that an interrupt stopped is not the owner") {
  constexpr const char *kTimer =
      "main_[k];sysvec_apic_timer_interrupt_[k];hrtimer_interrupt_[k];hrtimer_wakeup_[k];try_to_wake_up_[k]";
  CHECK(owner(kTimer, thread()) == "a timer");
  CHECK_FALSE(is_ended_by_thread({.reason = "futex", .waker_stack = kTimer}, thread()));
  CHECK(owner("asm_common_interrupt_[k];common_interrupt_[k];try_to_wake_up_[k]", thread()) == "an interrupt");
  CHECK(owner("secondary_startup_64_[k];do_idle_[k];try_to_wake_up_[k]", {}) == "an interrupt");  // no thread ran
}

TEST_CASE("disks have their name, from the request or from the journal") {
  Waker waker = thread();
  waker.disk = "sdb";
  constexpr const char *kDone = "common_interrupt_[k];blk_mq_end_request_[k];blk_update_request_[k];bio_endio_[k];complete_[k]";
  CHECK(owner(kDone, waker, "disk") == "disk sdb");
  CHECK(owner("do_futex_[k];futex_wake_[k]", waker) == "holder of app-812");  // the request was of something else
  Waker journal = thread();
  journal.is_kernel_thread = true;
  journal.thread_name = "jbd2/sda1-8";
  CHECK(owner("kthread_[k];jbd2_journal_commit_transaction_[k];__wake_up_[k]", journal, "other") == "disk sda1");
  CHECK(owner("common_interrupt_[k];bio_endio_[k]", thread(), "disk") == "disk");
}

TEST_CASE("peers have the address and port of the server") {
  constexpr const char *kData = "net_rx_action_[k];tcp_v4_rcv_[k];sock_def_readable_[k];__wake_up_sync_key_[k]";
  Waker peer = thread();
  peer.remote = "10.0.0.2";
  peer.port = 9000;
  CHECK(owner(kData, peer, "network") == "10.0.0.2:9000");
  peer.is_server = true;
  CHECK(owner(kData, peer, "network") == "10.0.0.2 as client of port 9000");
  peer.remote = "0.0.0.0";
  CHECK(owner(kData, peer, "network") == "clients of port 9000");
  peer.remote = "fe80::1";
  peer.is_server = false;
  CHECK(owner(kData, peer, "poll") == "[fe80::1]:9000");
  CHECK(owner("sk_stream_write_space_[k];__wake_up_[k]", peer, "network") == "network");  // by another socket's data
  CHECK(owner("unix_stream_sendmsg_[k];sock_def_readable_[k]", thread(), "pipe") == "holder of app-812");
}

TEST_CASE("what is not known has no owner") {
  CHECK(owner("", thread()) == "unknown");
  CHECK(owner("[kernel]_[k];[kernel]_[k]", thread()) == "unknown");  // the kernel hides its names
  CHECK(owner_of({.has_ended = false, .reason = "futex", .waker_stack = ""}, thread()) == "unknown");
  CHECK(owner_of({.queued = true, .reason = "run queue", .waker_stack = ""}, {}) == "a CPU");
}

}  // namespace
}  // namespace atalaya::perf
