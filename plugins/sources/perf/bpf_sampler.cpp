// SPDX-License-Identifier: Apache-2.0
// The backend "bpf": bpf/perf.bpf.c counts in the kernel.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/membarrier.h>
#include <malloc.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bpf/perf.h"
#include "perf.skel.h"
#include "plugins/bpf/loading.h"
#include "plugins/sources/perf/perf_events.h"
#include "plugins/sources/perf/process_id.h"
#include "plugins/sources/perf/sampler.h"
#include "plugins/symbols/unwinder.h"

namespace atalaya::perf {
namespace {

struct SkeletonDeleter {
  void operator()(perf_bpf *skeleton) const { perf_bpf__destroy(skeleton); }
};
struct RingDeleter {
  void operator()(ring_buffer *ring) const { ring_buffer__free(ring); }
};

ProcessId id_of(const perf_process &process) {
  return {static_cast<int32_t>(process.pid), process.start_ns, process.image};
}

// Programs that still write to the set of before have done so when this returns.
void wait_for_programs() {
  ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

class BpfSampler final : public Sampler {
 public:
  // An empty text when it works.
  std::string open(const SamplerOptions &options) {
    options_ = options;
    bpf::listen();
    bpf::take_words();
    std::string error = load();
    ::malloc_trim(0);  // the kernel's type information took several MiB
    return error;
  }

  std::string_view event() const override { return events_.name; }

  void pump(int stop, const See &see) override {
    static constexpr int kCopiesEveryMs = 100;
    std::array<pollfd, 2> wanted{pollfd{stop, POLLIN, 0}, pollfd{ring_buffer__epoll_fd(ring_.get()), POLLIN, 0}};
    ::poll(wanted.data(), wanted.size(), options_.dwarf ? kCopiesEveryMs : -1);
    const std::lock_guard lock(mutex_);
    see_ = &see;
    for (const auto &[id, again] : std::exchange(unseen_, {})) see(id, again);
    ring_buffer__consume(ring_.get());
    see_ = nullptr;
  }

  Totals take(const Take &take) override {
    auto &shared = *skeleton_->bss;
    const uint32_t old = shared.set & 1;
    __atomic_store_n(&shared.set, old ^ 1, __ATOMIC_SEQ_CST);
    wait_for_programs();
    stacks_.clear();
    read_counts(bpf_map__fd(old == 0 ? skeleton_->maps.counts_0 : skeleton_->maps.counts_1), take);
    if (options_.dwarf) give_unwound(take);
    const auto totals = std::exchange(shared.totals[old], {});
    return {totals.samples, totals.lost + std::exchange(lost_, 0), totals.cost_ns};
  }

 private:
  std::string load() {
    skeleton_.reset(perf_bpf__open());
    if (!skeleton_) return words();
    bpf_program__set_autoload(skeleton_->progs.on_tick, options_.on_cpu);
    bpf_program__set_autoload(skeleton_->progs.on_switch, options_.off_cpu);
    for (bpf_map *map : {skeleton_->maps.counts_0, skeleton_->maps.counts_1, skeleton_->maps.stacks})
      bpf_map__set_max_entries(map, options_.max_stacks);
    if (!options_.off_cpu) bpf_map__set_max_entries(skeleton_->maps.waiting, 1);
    if (!options_.dwarf) bpf_map__set_max_entries(skeleton_->maps.stack_copies, static_cast<uint32_t>(::sysconf(_SC_PAGESIZE)));
    skeleton_->rodata->copies = !options_.dwarf                    ? PERF_COPY_NONE
                                : options_.dwarf_processes.empty() ? PERF_COPY_ALL
                                                                   : PERF_COPY_NAMED;
    if (perf_bpf__load(skeleton_.get()) != 0) return words();
    skeleton_->bss->min_wait_ns = static_cast<uint64_t>(options_.min_wait_ns);
    ring_.reset(ring_buffer__new(bpf_map__fd(skeleton_->maps.seen), on_seen, this, nullptr));
    if (!ring_ || ring_buffer__add(ring_.get(), bpf_map__fd(skeleton_->maps.stack_copies), on_copy, this) != 0) return words();
    if (std::string error = options_.on_cpu ? attach_ticks() : std::string(); !error.empty()) return error;
    return options_.off_cpu ? attach_switch() : std::string();
  }

  static std::string words() {
    std::string text = bpf::take_words();
    return text.empty() ? "the kernel refused the program" : text;
  }

  std::string attach_ticks() {
    auto events = open_events(options_.event, options_.frequency, {});
    if (!events) return events.error();
    events_ = std::move(*events);
    for (CpuEvent &event : events_.events) {
      // The link owns the descriptor from then on, and turns the event on.
      links_.emplace_back(bpf_program__attach_perf_event(skeleton_->progs.on_tick, event.file.get()));
      if (!links_.back()) return words();
      event.file.release();
    }
    return {};
  }

  std::string attach_switch() {
    links_.emplace_back(bpf_program__attach_trace(skeleton_->progs.on_switch));
    return links_.back() ? std::string() : words();
  }

  static int on_seen(void *self, void *data, size_t size) {
    if (size >= sizeof(perf_seen)) static_cast<BpfSampler *>(self)->see(*static_cast<const perf_seen *>(data));
    return 0;
  }

  void see(const perf_seen &seen) {
    const uint8_t one = 1;
    const std::string_view comm(seen.comm, ::strnlen(seen.comm, sizeof(seen.comm)));
    if (options_.dwarf && !options_.dwarf_processes.empty() && options_.dwarf_processes.matches(comm))
      bpf_map_update_elem(bpf_map__fd(skeleton_->maps.copied), &seen.process, &one, BPF_ANY);
    if (see_ != nullptr)
      (*see_)(id_of(seen.process), seen.again != 0);
    else
      unseen_.emplace_back(id_of(seen.process), seen.again != 0);
  }

  static int on_copy(void *self, void *data, size_t size) {
    if (size >= sizeof(perf_copy)) static_cast<BpfSampler *>(self)->unwind(*static_cast<const perf_copy *>(data));
    return 0;
  }

  // A stack that was handed over as it was.
  void unwind(const perf_copy &copy) {
    const ProcessId id = id_of(copy.process);
    symbols::ProcessMemory &memory = memory_of(id);
    symbols::Registers registers{};
    std::copy(std::begin(copy.registers), std::end(copy.registers), registers.begin());
    const std::span<const uint8_t> bytes(copy.bytes, std::min<size_t>(copy.size, sizeof(copy.bytes)));
    Unwound key{id, copy.kernel, {}, End::failed};
    const auto end =
        unwinder_.unwind(memory, registers, {copy.begin, std::as_bytes(bytes)}, key.frames, [&] { memory.refresh(mark_of(id)); });
    if (end != symbols::Unwound::failed) key.end = end == symbols::Unwound::to_root ? End::root : End::truncated;
    if (unwound_.size() >= options_.max_stacks && unwound_.find(key) == unwound_.end()) {
      ++lost_;
      return;
    }
    auto &[comm, count] = unwound_[std::move(key)];
    if (comm.empty()) comm.assign(copy.comm, ::strnlen(copy.comm, sizeof(copy.comm)));
    ++count;
  }

  symbols::ProcessMemory &memory_of(const ProcessId &id) {
    static constexpr size_t kMaxMemories = 1024;
    if (const auto known = memories_.find(id); known != memories_.end()) return known->second;
    if (memories_.size() >= kMaxMemories) memories_.clear();
    symbols::ProcessMemory &memory = memories_.emplace(id, id.pid).first->second;
    memory.refresh(mark_of(id));
    return memory;
  }

  void give_unwound(const Take &take) {
    const std::lock_guard lock(mutex_);
    ring_buffer__consume(ring_.get());
    for (const auto &[key, sum] : unwound_) {
      StackCount stack{
          .process = key.process, .comm = sum.first, .has_user = true, .end = key.end, .user = key.frames, .count = sum.second};
      stack.kernel = frames_of(key.kernel, stack.kernel_lost);
      take(stack);
    }
    unwound_.clear();
  }

  // Nobody else writes to the map: what is read and deleted is the whole.
  void read_counts(int map, const Take &take) {
    static constexpr uint32_t kBatch = 2048;  // more than any bucket holds
    keys_.resize(kBatch);
    counts_.resize(kBatch);
    uint32_t place = 0;
    for (bool first = true, more = true; more; first = false) {
      uint32_t count = kBatch;
      more = bpf_map_lookup_and_delete_batch(map, first ? nullptr : &place, &place, keys_.data(), counts_.data(), &count,
                                             nullptr) == 0;
      if (!more && errno != ENOENT) return;  // what is left is told in the next window
      for (uint32_t i = 0; i < count; ++i) give(keys_[i], counts_[i], take);
    }
  }

  void give(const perf_key &key, const perf_count &count, const Take &take) {
    StackCount stack{.process = id_of(key.process),
                     .comm = std::string_view(count.comm, ::strnlen(count.comm, sizeof(count.comm))),
                     .off_cpu = (key.flags & PERF_OFF_CPU) != 0,
                     .has_user = (key.flags & PERF_HAS_USER) != 0,
                     .count = count.count,
                     .ns = count.ns};
    stack.kernel = frames_of(key.kernel, stack.kernel_lost);
    stack.user = frames_of(key.user, stack.user_lost);
    if (stack.user.size() == PERF_FRAMES) stack.end = End::truncated;
    take(stack);
  }

  std::span<const uint64_t> frames_of(uint64_t hash, bool &lost) {
    if (hash == 0) return {};
    auto [known, is_new] = stacks_.try_emplace(hash);
    if (is_new) {
      perf_stack stack{};
      if (bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.stacks), &hash, &stack) == 0 && stack.size <= PERF_FRAMES)
        known->second.assign(stack.frames, stack.frames + stack.size);
    }
    lost = known->second.empty();
    return known->second;
  }

  SamplerOptions options_;
  std::unique_ptr<perf_bpf, SkeletonDeleter> skeleton_;
  std::unique_ptr<ring_buffer, RingDeleter> ring_;
  CpuEvents events_;
  std::vector<bpf::Link> links_;

  // What the pump and the windows share.
  std::mutex mutex_;
  const See *see_ = nullptr;
  std::vector<std::pair<ProcessId, bool>> unseen_;  // found while nobody listened
  struct Unwound {
    ProcessId process;
    uint64_t kernel = 0;
    std::vector<uint64_t> frames;
    End end = End::failed;
    auto operator<=>(const Unwound &) const = default;
  };
  std::map<Unwound, std::pair<std::string, uint64_t>> unwound_;
  std::map<ProcessId, symbols::ProcessMemory> memories_;
  symbols::Unwinder unwinder_;
  uint64_t lost_ = 0;

  std::vector<perf_key> keys_;
  std::vector<perf_count> counts_;
  std::unordered_map<uint64_t, std::vector<uint64_t>> stacks_;  // of this window
};

}  // namespace

core::Result<std::unique_ptr<Sampler>> open_bpf_sampler(const SamplerOptions &options) {
  if (std::string reason = bpf::obstacle(); !reason.empty()) return core::Error{std::move(reason)};
  auto sampler = std::make_unique<BpfSampler>();
  if (std::string reason = sampler->open(options); !reason.empty()) return core::Error{std::move(reason)};
  return std::unique_ptr<Sampler>(std::move(sampler));
}

}  // namespace atalaya::perf
