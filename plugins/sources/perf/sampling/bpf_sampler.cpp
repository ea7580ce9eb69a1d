// SPDX-License-Identifier: Apache-2.0
// The backend "bpf": bpf/perf.bpf.c counts in the kernel.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <malloc.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <exception>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "bpf/perf.h"
#include "core/base/now.h"
#include "perf.skel.h"
#include "plugins/shared/host/bpf/loading.h"
#include "plugins/shared/host/procfs/cpus.h"
#include "plugins/sources/perf/process_id.h"
#include "plugins/sources/perf/sampling/bpf_bursts.h"
#include "plugins/sources/perf/sampling/bpf_copies.h"
#include "plugins/sources/perf/sampling/bpf_maps.h"
#include "plugins/sources/perf/sampling/bpf_task_names.h"
#include "plugins/sources/perf/sampling/bpf_task_regions.h"
#include "plugins/sources/perf/sampling/perf_events.h"
#include "plugins/sources/perf/sampling/sampler.h"

namespace atalaya::perf {
namespace {

struct SkeletonDeleter {
  void operator()(perf_bpf *skeleton) const { perf_bpf__destroy(skeleton); }
};
struct RingDeleter {
  void operator()(ring_buffer *ring) const { ring_buffer__free(ring); }
};

class BpfSampler final : public Sampler {
 public:
  explicit BpfSampler(const SamplerOptions &options) : options_(options), copies_(options.dwarf_memory, options.max_stacks) {}

  core::Status open() {
    max_frames_ = std::min<size_t>(PERF_FRAMES, max_frames());
    bpf::capture_messages();
    bpf::take_message();
    core::Status loaded = load();
    ::malloc_trim(0);  // the kernel's type information took several MiB
    return loaded;
  }

  std::string_view event() const override { return events_.name; }
  bool knows_threads() const override { return !options_.task_threads.empty(); }

  std::vector<Renamed> collect_renames() override {
    const std::lock_guard lock(mutex_);
    return names_.take();
  }

  core::Result<std::unique_ptr<probes::Attachment>> attach_region(uint32_t region, int file,
                                                                  const probes::Points &points) override {
    return regions_.attach(*skeleton_, region, file, points);
  }

  TaskRuns collect_runs() override {
    const std::lock_guard lock(mutex_);
    return regions_.take(*skeleton_);
  }

  BurstTotals collect_bursts(const WaitCallback &take) override {
    return bursts_ ? bursts_->take(take, max_frames_) : BurstTotals();
  }

  void pump(int stop, const OnSampled &on_sampled) override {
    // New processes, and a ring of copies that fills, wake the thread at once.
    static constexpr int kCopiesEveryMs = 500;
    static constexpr int64_t kMaxPerCall = 50'000'000;
    static constexpr timespec kPause{0, 1'000'000};
    std::array<pollfd, 2> wanted{pollfd{stop, POLLIN, 0}, pollfd{ring_buffer__epoll_fd(ring_.get()), POLLIN, 0}};
    ::poll(wanted.data(), wanted.size(), options_.dwarf ? kCopiesEveryMs : -1);
    std::vector<std::pair<ProcessId, bool>> seen;
    {
      const std::lock_guard lock(mutex_);
      consume(kMaxPerCall);
      seen.swap(seen_);
    }
    // Lets the thread that collects the window take the lock.
    if (is_behind_) ::nanosleep(&kPause, nullptr);
    for (const auto &[id, again] : seen) on_sampled(id, again);
  }

  Totals take(const Callback &take) override {
    auto &shared = *skeleton_->bss;
    const uint32_t old = shared.set & 1;
    __atomic_store_n(&shared.set, old ^ 1, __ATOMIC_SEQ_CST);
    wait_for_programs();
    const StackCopies::Window copies = take_copies(old);
    read_counts(bpf_map__fd(old == 0 ? skeleton_->maps.counts_0 : skeleton_->maps.counts_1));
    for (const auto &[key, count] : counts_) give(key, count, take);
    for (const auto &[key, sum] : copies.stacks) give(key, sum, take);
    stacks_ = {};
    const auto totals = std::exchange(shared.totals[old], {});
    // Samples that could not be read count as lost: each sample is in a stack, or lost.
    uint64_t known = totals.lost + copies.lost;
    for (const auto &[key, count] : counts_) known += count.count;
    for (const auto &[key, sum] : copies.stacks) known += sum.count;
    const uint64_t unread = totals.samples - std::min<uint64_t>(known, totals.samples);
    counts_ = {};
    follow_cpus();
    return {totals.samples, totals.lost + copies.lost + unread, totals.not_copied, totals.cost_ns};
  }

 private:
  bool has_regions() const { return !options_.task_regions.empty(); }

  core::Status load(bool with_multi = true) {
    skeleton_.reset(perf_bpf__open());
    if (!skeleton_) return load_error();
    bpf_program__set_autoload(skeleton_->progs.on_tick, options_.on_cpu);
    bpf_program__set_autoload(skeleton_->progs.on_switch, options_.off_cpu);
    bpf_program__set_autoload(skeleton_->progs.on_wakeup, options_.off_cpu && options_.run_queue);
    skeleton_->rodata->with_queue = options_.run_queue;
    names_.prepare(*skeleton_, options_.task_threads, options_.off_cpu);
    regions_.prepare(*skeleton_, options_, with_multi);
    Bursts::prepare(*skeleton_, has_bursts() ? options_.max_stacks : 0);
    const auto &maps = skeleton_->maps;
    for (bpf_map *map : {maps.counts_0, maps.counts_1, maps.tick_stacks, maps.switch_stacks})
      bpf_map__set_max_entries(map, options_.max_stacks);
    if (!options_.on_cpu)
      for (bpf_map *map : {maps.tick_stacks, maps.tick_known}) bpf_map__set_max_entries(map, 1);
    if (!options_.off_cpu) bpf_map__set_max_entries(maps.waiting, 1);
    if (!options_.off_cpu && !has_bursts())
      for (bpf_map *map : {maps.switch_stacks, maps.switch_known}) bpf_map__set_max_entries(map, 1);
    const uint32_t copies = options_.dwarf ? ring_size() : static_cast<uint32_t>(::sysconf(_SC_PAGESIZE));
    bpf_map__set_max_entries(skeleton_->maps.stack_copies, copies);
    skeleton_->rodata->wake_above = copies / 4;
    skeleton_->rodata->copies = !options_.dwarf                     ? PERF_COPY_NONE
                                : !options_.dwarf_processes.empty() ? PERF_COPY_LISTED
                                : options_.dwarf_if_needed          ? PERF_COPY_UNLISTED
                                                                    : PERF_COPY_ALL;
    if (perf_bpf__load(skeleton_.get()) != 0) return load_error();
    if (has_regions() && with_multi && !TaskRegions::supports_multi(*skeleton_)) return load(false);
    skeleton_->bss->min_wait_ns = static_cast<uint64_t>(options_.min_wait_ns);
    ring_.reset(ring_buffer__new(bpf_map__fd(skeleton_->maps.seen), on_seen, this, nullptr));
    if (!ring_ || ring_buffer__add(ring_.get(), bpf_map__fd(skeleton_->maps.stack_copies), on_copy, this) != 0) return load_error();
    if (knows_threads())
      if (!names_.attach(*skeleton_, *ring_)) return load_error();
    if (has_regions() && !regions_.start(*skeleton_, *ring_)) return load_error();
    if (options_.on_cpu)
      if (core::Status attached = attach_ticks(); !attached) return attached;
    if (options_.off_cpu)
      if (core::Status attached = attach_switch(); !attached) return attached;
    return has_bursts() ? start_bursts() : core::Done{};
  }

  bool has_bursts() const { return options_.burst_ns > 0; }

  // Has copies of half a second, and a quarter of it wakes the reader. All its memory is in use from the start.
  uint32_t ring_size() const {
    static constexpr uint64_t kMinRingBytes = 1 << 20, kMaxRingBytes = 8 << 20;
    const uint64_t copies = static_cast<uint64_t>(options_.frequency) * static_cast<uint64_t>(libbpf_num_possible_cpus()) / 2;
    return static_cast<uint32_t>(std::bit_ceil(std::clamp(copies * sizeof(perf_copy), kMinRingBytes, kMaxRingBytes)));
  }

  core::Status start_bursts() {
    bursts_ = std::make_unique<Bursts>(*skeleton_, options_.burst_ns, options_.burst_every_ns, options_.max_stacks);
    return bursts_->start() ? core::Status(core::Done{}) : load_error();
  }

  static core::Error load_error() {
    std::string text = bpf::take_message();
    return {text.empty() ? "the kernel rejected the BPF program" : std::move(text)};
  }

  core::Status attach_ticks() {
    auto events = open_events(options_.event, options_.frequency, {});
    if (!events) return core::Error{events.error()};
    events_ = std::move(*events);
    for (CpuEvent &event : events_.events)
      if (!attach_tick(event.cpu, std::move(event.file))) return load_error();
    return core::Done{};
  }

  bool attach_tick(int cpu, core::Descriptor file) {
    bpf::Link link(bpf_program__attach_perf_event(skeleton_->progs.on_tick, file.get()));
    if (!link) return false;
    // The link now owns the descriptor and enables the event.
    file.release();
    ticks_.insert_or_assign(cpu, std::move(link));
    return true;
  }

  void follow_cpus() {
    if (!options_.on_cpu) return;
    std::vector<int> sampled;
    sampled.reserve(ticks_.size());
    for (const auto &tick : ticks_) sampled.push_back(tick.first);
    const procfs::CpuChange change = procfs::change_of(sampled, procfs::online_cpus());
    for (const int cpu : change.removed) ticks_.erase(cpu);
    for (const int cpu : change.added)
      if (core::Descriptor file = open_on(events_, cpu)) attach_tick(cpu, std::move(file));
  }

  core::Status attach_switch() {
    switch_.reset(bpf_program__attach_trace(skeleton_->progs.on_switch));
    if (!switch_) return load_error();
    if (options_.run_queue) wakeup_.reset(bpf_program__attach_trace(skeleton_->progs.on_wakeup));
    return options_.run_queue && !wakeup_ ? core::Status(load_error()) : core::Done{};
  }

  // Called from C: must not throw.
  static int on_seen(void *self, void *data, size_t size) noexcept {
    try {
      if (size >= sizeof(perf_seen)) static_cast<BpfSampler *>(self)->add_seen(*static_cast<const perf_seen *>(data));
    } catch (const std::exception &) {  // out of memory: it is read at the end of the window
    }
    return 0;
  }

  // By name, or because frame pointers are enough. Most processes that are sampled once are short-lived: not worth the reading.
  bool is_listed(const perf_seen &seen, std::string_view comm) {
    if (!options_.dwarf) return false;
    if (!options_.dwarf_processes.empty()) return options_.dwarf_processes.matches(comm);
    return options_.dwarf_if_needed && seen.again != 0 && copies_.keeps_frame_pointers(id_of(seen.process));
  }

  void add_seen(const perf_seen &seen) {
    static constexpr size_t kMaxSeen = 4096;
    const uint8_t one = 1;
    const std::string_view comm = text_of(seen.comm);
    if (is_listed(seen, comm)) bpf_map_update_elem(bpf_map__fd(skeleton_->maps.listed), &seen.process, &one, BPF_ANY);
    if (seen_.size() < kMaxSeen) seen_.emplace_back(id_of(seen.process), seen.again != 0);
  }

  // Copies may arrive faster than one thread unwinds them: the rest stays in the ring for the next call.
  void consume(int64_t at_most_ns) {
    until_ns_ = core::monotonic() + at_most_ns;
    is_behind_ = ring_buffer__consume(ring_.get()) < 0;
  }

  // Called from C: must not throw. A negative result stops consuming.
  static int on_copy(void *self, void *data, size_t size) noexcept {
    auto &sampler = *static_cast<BpfSampler *>(self);
    static constexpr size_t kHead = offsetof(perf_copy, bytes);
    const auto &copy = *static_cast<const perf_copy *>(data);
    if (size < kHead || size - kHead < copy.size) return 0;
    try {
      if (!sampler.skips_)
        sampler.copies_.add(copy);
      else
        sampler.copies_.count_lost(copy);
    } catch (const std::exception &) {
      sampler.copies_.count_lost(copy);
    }
    return core::monotonic() < sampler.until_ns_ ? 0 : -ECANCELED;
  }

  // All copies of this set are in the ring now; those that do not fit into the time limit are lost.
  StackCopies::Window take_copies(uint32_t set) {
    if (!options_.dwarf) return {};
    static constexpr int64_t kForWindow = 1'000'000'000;
    const std::lock_guard lock(mutex_);
    consume(kForWindow);
    skips_ = is_behind_;
    if (skips_) consume(kForWindow);
    skips_ = false;
    return copies_.take(set);
  }

  void give(const StackCopies::Stack &key, const StackCopies::Sum &sum, const Callback &take) {
    StackCount stack{.process = key.process,
                     .comm = sum.comm,
                     .has_user = true,
                     .end = key.end,
                     .user = key.frames,
                     .count = sum.count,
                     .thread = key.thread,
                     .epoch = key.epoch,
                     .thread_name = sum.thread_name,
                     .region = key.region};
    stack.kernel = frames_of(key.kernel, false, stack.kernel_lost);
    take(stack);
  }

  void read_counts(int map) {
    read_and_delete<perf_key, perf_count>(map,
                                          [&](const perf_key &key, const perf_count &count) { counts_.emplace_back(key, count); });
    sort_counts();
  }

  void sort_counts() {
    std::sort(counts_.begin(), counts_.end(),
              [](const auto &a, const auto &b) { return id_of(a.first.process) < id_of(b.first.process); });
  }

  void give(const perf_key &key, const perf_count &count, const Callback &take) {
    StackCount stack{.process = id_of(key.process),
                     .comm = text_of(count.comm),
                     .off_cpu = (key.flags & PERF_OFF_CPU) != 0,
                     .queued = (key.flags & PERF_QUEUED) != 0,
                     .has_user = (key.flags & PERF_HAS_USER) != 0,
                     .count = count.count,
                     .ns = count.ns,
                     .thread = key.thread,
                     .epoch = static_cast<int64_t>(key.epoch),
                     .thread_name = text_of(count.thread),
                     .region = key.flags >> PERF_REGION_SHIFT};
    stack.kernel = frames_of(key.kernel, stack.off_cpu, stack.kernel_lost);
    stack.user = frames_of(key.user, stack.off_cpu, stack.user_lost);
    if (stack.user.size() >= max_frames_) stack.end = End::truncated;
    take(stack);
  }

  std::span<const uint64_t> frames_of(uint64_t hash, bool off_cpu, bool &lost) {
    if (hash == 0) return {};
    auto [known, is_new] = stacks_.try_emplace({hash, off_cpu});
    if (is_new) {
      const bpf_map *stacks = off_cpu ? skeleton_->maps.switch_stacks : skeleton_->maps.tick_stacks;
      perf_stack stack{};
      if (bpf_map_lookup_elem(bpf_map__fd(stacks), &hash, &stack) == 0 && stack.size <= PERF_FRAMES)
        known->second.assign(stack.frames, stack.frames + stack.size);
    }
    lost = known->second.empty();
    return known->second;
  }

  SamplerOptions options_;
  std::unique_ptr<perf_bpf, SkeletonDeleter> skeleton_;
  std::unique_ptr<ring_buffer, RingDeleter> ring_;
  CpuEvents events_;
  std::map<int, bpf::Link> ticks_;  // of each CPU
  bpf::Link switch_, wakeup_;
  std::unique_ptr<Bursts> bursts_;

  // Shared by the pump thread and the collecting thread.
  std::mutex mutex_;
  std::vector<std::pair<ProcessId, bool>> seen_;
  TaskNameEvents names_;
  TaskRegions regions_;
  StackCopies copies_;
  int64_t until_ns_ = 0;
  bool skips_ = false;
  std::atomic<bool> is_behind_ = false;

  size_t max_frames_ = PERF_FRAMES;
  // Of this window.
  std::vector<std::pair<perf_key, perf_count>> counts_;
  std::map<std::pair<uint64_t, bool>, std::vector<uint64_t>> stacks_;  // by hash, and whether off-CPU
};

}  // namespace

core::Result<std::unique_ptr<Sampler>> open_bpf_sampler(const SamplerOptions &options) {
  if (const core::Status usable = bpf::check(); !usable) return core::Error{usable.error()};
  auto sampler = std::make_unique<BpfSampler>(options);
  const core::Status opened = sampler->open();
  if (opened) return std::unique_ptr<Sampler>(std::move(sampler));
  if (!options.dwarf_if_needed) return core::Error{opened.error()};
  SamplerOptions without = options;  // kernels before 5.15 cannot copy stacks
  without.dwarf = without.dwarf_if_needed = false;
  return open_bpf_sampler(without);
}

}  // namespace atalaya::perf
