// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/perf/sampling/bpf_bursts.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/now.h"
#include "perf.skel.h"
#include "plugins/sources/perf/sampling/bpf_maps.h"

namespace atalaya::perf {
namespace {

using Stacks = std::map<uint64_t, std::vector<uint64_t>>;

std::string address_of(const perf_socket &socket) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  static constexpr std::array<uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const bool is_mapped = socket.family == AF_INET6 && std::equal(kMapped.begin(), kMapped.end(), socket.remote);
  const uint8_t *from = socket.remote + (is_mapped ? kMapped.size() : 0);
  return ::inet_ntop(is_mapped ? AF_INET : socket.family, from, text.data(), text.size()) == nullptr ? "" : text.data();
}

std::span<const uint64_t> frames_of(const Stacks &stacks, uint64_t hash, bool &lost) {
  const auto known = stacks.find(hash);
  lost = hash != 0 && (known == stacks.end() || known->second.empty());
  return known == stacks.end() ? std::span<const uint64_t>() : known->second;
}

Waker waker_of(const perf_waker &waker, const perf_owner_names &names, const Stacks &stacks) {
  bool ignored = false;
  return {.process = id_of(waker.process),
          .thread = waker.thread,
          .is_kernel_thread = waker.is_kernel_thread != 0,
          .process_name = text_of(names.waker_process),
          .thread_name = text_of(names.waker_thread),
          .kernel = frames_of(stacks, waker.kernel, ignored),
          .user = frames_of(stacks, waker.user, ignored),
          .remote = waker.socket.family == 0 ? std::string() : address_of(waker.socket),
          .port = waker.socket.port,
          .is_server = waker.socket.is_server != 0,
          .disk = text_of(waker.disk)};
}

// only_disk: the disk, if only one has finished requests; else "". File systems end some waits later, in another thread.
void give(const perf_owner_key &key, const perf_owner_count &count, const Stacks &stacks, std::string_view only_disk,
          const WaitCallback &take, size_t max_frames) {
  StackCount stack{.process = id_of(key.wait.process),
                   .comm = text_of(count.names.process),
                   .off_cpu = true,
                   .queued = (key.wait.flags & PERF_QUEUED) != 0,
                   .has_user = (key.wait.flags & PERF_HAS_USER) != 0,
                   .count = count.count,
                   .ns = count.ns,
                   .thread = key.wait.thread,
                   .epoch = static_cast<int64_t>(key.wait.epoch),
                   .thread_name = text_of(count.names.thread),
                   .region = key.wait.flags >> PERF_REGION_SHIFT};
  stack.kernel = frames_of(stacks, key.wait.kernel, stack.kernel_lost);
  stack.user = frames_of(stacks, key.wait.user, stack.user_lost);
  if (stack.user.size() >= max_frames) stack.end = End::truncated;
  Waker waker = waker_of(key.waker, count.names, stacks);
  if (waker.disk.empty()) waker.disk = only_disk;
  waker.has_ended = (key.wait.flags & PERF_UNENDED) == 0;
  take(stack, waker);
}

}  // namespace

Bursts::~Bursts() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  stopped_.notify_all();
  thread_.join();
}

void Bursts::prepare(perf_bpf &skeleton, uint32_t max_stacks) {
  const auto &programs = skeleton.progs;
  const bool wanted = max_stacks != 0;
  for (bpf_program *program : {programs.on_burst_switch, programs.on_burst_waking}) bpf_program__set_autoload(program, wanted);
  // Since Linux 6.3. On older kernels, waits for sockets have no peer.
  const bool has_sockets = wanted && libbpf_find_vmlinux_btf_id("sk_data_ready", BPF_TRACE_RAW_TP) > 0;
  const bool has_disks = wanted && libbpf_find_vmlinux_btf_id("block_rq_complete", BPF_TRACE_RAW_TP) > 0;
  bpf_program__set_autoload(programs.on_burst_data, has_sockets);
  bpf_program__set_autoload(programs.on_burst_disk, has_disks);
  bpf_map__set_max_entries(skeleton.maps.owners, wanted ? max_stacks : 1);
  if (!wanted) bpf_map__set_max_entries(skeleton.maps.blocked, 1);
}

bool Bursts::attach() {
  links_.clear();
  const auto &programs = skeleton_.progs;
  for (bpf_program *program :
       {programs.on_burst_data, programs.on_burst_disk, programs.on_burst_waking, programs.on_burst_switch}) {
    if (!bpf_program__autoload(program)) continue;
    bpf::Link link(bpf_program__attach_trace(program));
    if (!link) return false;
    links_.push_back(std::move(link));
  }
  return true;
}

bool Bursts::start() {
  if (!attach()) return false;
  thread_ = std::thread([this] { run(); });
  return true;
}

// False: stopped.
bool Bursts::wait_until(std::unique_lock<std::mutex> &lock, int64_t time_ns) {
  while (!is_stopping_) {
    const int64_t rest = time_ns - core::monotonic();
    if (rest <= 0) return true;
    stopped_.wait_for(lock, std::chrono::nanoseconds(rest));
  }
  return false;
}

void Bursts::run() {
  pthread_setname_np(pthread_self(), "perf-bursts");
  std::unique_lock lock(mutex_);
  for (int64_t next = core::monotonic(); wait_until(lock, next); next += every_ns_) {
    next = std::max(next, core::monotonic() - every_ns_);  // after a suspend, bursts are not repeated
    lock.unlock();
    const bool attached = !links_.empty() || attach();
    if (attached) __atomic_store_n(&skeleton_.bss->burst.since_ns, static_cast<uint64_t>(core::monotonic()), __ATOMIC_SEQ_CST);
    lock.lock();
    if (!attached) continue;
    wait_until(lock, core::monotonic() + length_ns_);
    lock.unlock();
    try {
      end_burst();
    } catch (const std::exception &) {  // out of memory: this burst is missing
    }
    lock.lock();
  }
}

void Bursts::end_burst() {
  perf_burst &burst = skeleton_.bss->burst;
  const uint64_t since = burst.since_ns;
  __atomic_store_n(&burst.since_ns, 0, __ATOMIC_SEQ_CST);
  wait_for_programs();
  const auto end = static_cast<uint64_t>(core::monotonic());
  links_.clear();
  const perf_burst totals = std::exchange(burst, {});
  const std::lock_guard lock(mutex_);
  const uint64_t before = recorded_.counted;
  const uint64_t unended = read_waits(end);
  record_burst(recorded_.counted - before, {.waits = totals.waits + unended,
                                            .unknown = totals.unknown,
                                            .cost_ns = totals.cost_ns,
                                            .length_ns = static_cast<int64_t>(end - since)});
}

// A wait beyond the limit is lost.
void Bursts::add(const perf_owner_key &key, const perf_owner_count &count) {
  Waits &waits = recorded_.waits;
  auto known = waits.find(key);
  if (known == waits.end() && waits.size() >= max_waits_) return;
  if (known == waits.end()) {
    known = waits.emplace(key, perf_owner_count{.names = count.names}).first;
    read_stacks(key);
    if (key.waker.disk[0] != '\0') recorded_.disks.emplace(text_of(key.waker.disk));
  }
  known->second.count += count.count;
  known->second.ns += count.ns;
  recorded_.counted += count.count;
}

uint64_t Bursts::read_waits(uint64_t end_ns) {
  read_and_delete<perf_owner_key, perf_owner_count>(
      bpf_map__fd(skeleton_.maps.owners), [&](const perf_owner_key &key, const perf_owner_count &count) { add(key, count); });
  uint64_t unended = 0;
  const auto add_part = [&](const perf_blocked &entry, uint64_t from_ns, uint64_t to_ns) {
    if (to_ns <= from_ns) return;
    add(entry.key, {1, to_ns - from_ns, entry.names});
    ++unended;
  };
  // A thread that was woken but has not run yet has two waits: until it was woken, and until now.
  read_and_delete<uint32_t, perf_blocked>(bpf_map__fd(skeleton_.maps.blocked), [&](uint32_t, perf_blocked entry) {
    const uint64_t woken = entry.woken_ns == 0 ? end_ns : entry.woken_ns;
    if (entry.woken_ns == 0) entry.key.wait.flags |= PERF_UNENDED;
    add_part(entry, entry.since_ns, woken);
    entry.key.wait.flags |= PERF_QUEUED;
    entry.key.waker = {};
    add_part(entry, woken, end_ns);
  });
  return unended;
}

// Waits that neither the kernel nor this class counted are lost.
void Bursts::record_burst(uint64_t counted, const BurstTotals &totals) {
  BurstTotals &all = recorded_.totals;
  all.waits += totals.waits;
  all.lost += totals.waits - std::min(counted, totals.waits);
  all.unknown += totals.unknown;
  all.cost_ns += totals.cost_ns;
  all.length_ns += totals.length_ns;
}

void Bursts::read_stacks(const perf_owner_key &key) {
  const int map = bpf_map__fd(skeleton_.maps.switch_stacks);
  for (const uint64_t hash : {key.wait.kernel, key.wait.user, key.waker.kernel, key.waker.user}) {
    if (hash == 0) continue;
    const auto [known, is_new] = recorded_.stacks.try_emplace(hash);
    perf_stack stack{};
    if (is_new && bpf_map_lookup_elem(map, &hash, &stack) == 0 && stack.size <= PERF_FRAMES)
      known->second.assign(stack.frames, stack.frames + stack.size);
  }
}

BurstTotals Bursts::take(const WaitCallback &take, size_t max_frames) {
  Recorded recorded;
  {
    const std::lock_guard lock(mutex_);
    std::swap(recorded, recorded_);
  }
  const std::string_view only_disk = recorded.disks.size() == 1 ? std::string_view(*recorded.disks.begin()) : std::string_view();
  for (const auto &[key, count] : recorded.waits) give(key, count, recorded.stacks, only_disk, take, max_frames);
  return recorded.totals;
}

}  // namespace atalaya::perf
