// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/child_handle.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <new>

#include "core/base/now.h"
#include "core/isolation/wire.h"

namespace atalaya::core {
namespace {

constexpr size_t kAlwaysHeld = size_t{1} << 20;
constexpr time_t kPatience = 1;  // timeout in seconds for a child that does not read its notices

struct Pair {
  Descriptor ours, theirs;
};

Result<Pair> socket_pair() {
  int pair[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return Error{"socketpair: " + error_text(errno)};
  Pair made{Descriptor(pair[0]), Descriptor(pair[1])};
  const timeval response_timeout{kPatience, 0};
  ::setsockopt(made.ours.get(), SOL_SOCKET, SO_SNDTIMEO, &response_timeout, sizeof(response_timeout));
  return made;
}

// Copies a value that the child may change at the same time; use only the copy.
template <class T>
T read_once(const T &shared) {
  T copy;
  std::memcpy(static_cast<void *>(&copy), &shared, sizeof(T));
  asm volatile("" ::: "memory");
  return copy;
}

bool plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

Result<std::shared_ptr<ChildHandle>> ChildHandle::spawn(Launcher &launcher, uint64_t capabilities, int64_t memory_bytes,
                                                        bool reads_only) {
  const std::shared_ptr<ChildHandle> child(new ChildHandle);
  auto control = SharedMemory::make("atalaya-control", sizeof(Control));
  auto batches = SharedMemory::make("atalaya-batches", static_cast<size_t>(memory_bytes));
  auto requests = socket_pair();
  auto notices = socket_pair();
  if (!control) return Error{control.error()};
  if (!batches) return Error{batches.error()};
  if (!requests) return Error{requests.error()};
  if (!notices) return Error{notices.error()};
  new (control->data()) Control;
  reinterpret_cast<Control *>(control->data())->reads_only = reads_only ? 1 : 0;
  auto process = launcher.spawn({.capabilities = capabilities,
                                 .memory_bytes = memory_bytes,
                                 .control = control->fd(),
                                 .batches = batches->fd(),
                                 .requests = requests->theirs.get(),
                                 .notices = notices->theirs.get()});
  if (!process) return Error{process.error()};
  child->control_ = std::move(*control);
  child->batches_ = std::move(*batches);
  child->requests_ = std::move(requests->ours);
  child->notices_ = std::move(notices->ours);
  child->process_ = std::move(*process);
  return child;
}

uint32_t ChildHandle::begin(const Call &call) {
  std::memcpy(static_cast<void *>(&control().call), &call, sizeof(call));
  control().called.store(++number_, std::memory_order_release);
  futex_wake(control().called);
  return number_;
}

ChildHandle::Event ChildHandle::wait(uint32_t number, int64_t until_ns) {
  for (;;) {
    const uint32_t seen = control().news.load(std::memory_order_acquire);
    if (answered(number)) return Event::answered;
    if (control().emitted.load(std::memory_order_acquire) != handled_emits_) return Event::emitted;
    if (!usable()) return Event::ended;
    const int64_t until = std::min(until_ns, end_by_.load());
    if (until != INT64_MAX && monotonic() >= until) return Event::timed_out;
    futex_wait(control().news, seen, until);
  }
}

void ChildHandle::end_by(int64_t until_ns) {
  end_by_ = until_ns;
  wake();
}

void ChildHandle::wake() {
  control().news.fetch_add(1);
  futex_wake(control().news);
}

void ChildHandle::kill(const std::string &why) {
  {
    const std::lock_guard lock(why_mutex_);
    if (why_.empty()) why_ = why;
  }
  killed_ = true;
  ::syscall(SYS_pidfd_send_signal, process_.pidfd.get(), SIGKILL, nullptr, 0);
  wake();
}

std::string ChildHandle::kill_reason() const {
  const std::lock_guard lock(why_mutex_);
  return why_;
}

void ChildHandle::set_ended() {
  ended_ = true;
  wake();
}

Outcome ChildHandle::outcome() const {
  const Answer &answer = control().answer;
  Outcome outcome{read_once(answer.code), {}};
  const uint32_t size = std::min<uint32_t>(read_once(answer.text_size), static_cast<uint32_t>(answer.text.size()));
  outcome.text.assign(answer.text.data(), size);
  if (outcome.code < ATALAYA_OK || outcome.code > ATALAYA_UNSUPPORTED) outcome.code = ATALAYA_PERMANENT;
  return outcome;
}

ForeignBatch ChildHandle::batch() const {
  return read_once(control().answer.batch);
}

int64_t ChildHandle::retry_after_ns() const {
  return std::max<int64_t>(read_once(control().answer.retry_after_ns), 0);
}

void ChildHandle::take_counts(Surroundings &surroundings) const {
  const Answer &answer = control().answer;
  const uint32_t count = std::min<uint32_t>(read_once(answer.counted), static_cast<uint32_t>(answer.counts.size()));
  for (uint32_t i = 0; i < count; ++i) {
    const Counted counted = read_once(answer.counts[i]);
    const std::string_view reason(counted.reason.data(), std::min<size_t>(counted.reason_size, counted.reason.size()));
    const bool sound = counted.what >= ATALAYA_COUNT_DROPPED && counted.what <= ATALAYA_COUNT_DEAD_LETTER && plain(reason) &&
                       counted.samples <= INT32_MAX;
    if (sound) surroundings.count(counted.what, reason, counted.samples);
  }
}

void ChildHandle::answer_emit(int32_t code, uint64_t id) {
  ++handled_emits_;
  control().emit_answer.code = code;
  control().emit_answer.id = id;
  control().emit_answered.store(handled_emits_, std::memory_order_release);
  futex_wake(control().emit_answered);
}

void ChildHandle::read_base() {
  base_ = read_once(control().answer.base);
}

void ChildHandle::used(size_t bytes) {
  static constexpr unsigned kLookEvery = 64;
  peak_bytes_ = std::max(peak_bytes_, bytes);
  touched_bytes_ = std::max(touched_bytes_, bytes);
  if (++uses_ % kLookEvery != 0) return;
  const size_t wanted = std::max(2 * peak_bytes_, kAlwaysHeld);
  if (touched_bytes_ > 2 * wanted) {
    batches_.free_beyond(wanted);
    touched_bytes_ = wanted;
  }
  peak_bytes_ = 0;
}

bool ChildHandle::notify(std::string_view message) const {
  return send_message(notices_.get(), message);
}

uint64_t ChildHandle::data_bytes() const {
  const auto text = read_file("/proc/" + std::to_string(process_.pid) + "/status", 8192);
  static constexpr std::string_view kLine = "\nVmData:";
  const size_t at = text ? text.value().find(kLine) : std::string::npos;
  return at == std::string::npos ? 0 : std::strtoull(text.value().c_str() + at + kLine.size(), nullptr, 10) * 1024;
}

int64_t ChildHandle::cpu_ns() const {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(process_.pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace atalaya::core
