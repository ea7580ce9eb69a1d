// SPDX-License-Identifier: Apache-2.0
// The backend "ring": the kernel writes each sample with its stack into a ring per CPU; this code counts them.
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/base/now.h"
#include "plugins/shared/code/symbols/process/process_memory.h"
#include "plugins/shared/host/procfs/cpus.h"
#include "plugins/shared/host/procfs/process_stat.h"
#include "plugins/sources/perf/sampling/perf_events.h"
#include "plugins/sources/perf/sampling/ring_records.h"
#include "plugins/sources/perf/sampling/sampler.h"

namespace atalaya::perf {
namespace {

constexpr size_t kRingBytes = 256 << 10;
constexpr int kDrainEveryMs = 250;
constexpr size_t kMaxProcesses = 65536;

class Ring {
 public:
  explicit Ring(core::Descriptor event) : page_(static_cast<size_t>(::sysconf(_SC_PAGESIZE))), event_(std::move(event)) {
    void *memory = ::mmap(nullptr, page_ + kRingBytes, PROT_READ | PROT_WRITE, MAP_SHARED, event_.get(), 0);
    memory_ = memory == MAP_FAILED ? nullptr : static_cast<std::byte *>(memory);
  }
  Ring(Ring &&other) noexcept
      : page_(other.page_), event_(std::move(other.event_)), memory_(std::exchange(other.memory_, nullptr)) {}
  Ring &operator=(Ring &&) = delete;
  ~Ring() {
    if (memory_ != nullptr) ::munmap(memory_, page_ + kRingBytes);
  }
  explicit operator bool() const { return memory_ != nullptr; }

  void enable() const { ::ioctl(event_.get(), PERF_EVENT_IOC_ENABLE, 0); }

  void drain(std::vector<RingRecord> &records) {
    auto *shared = reinterpret_cast<perf_event_mmap_page *>(memory_);
    const uint64_t head = __atomic_load_n(&shared->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = shared->data_tail;
    const std::span<const std::byte> ring(memory_ + page_, kRingBytes);
    for (auto bytes = record_at(ring, tail, head, joined_); !bytes.empty(); bytes = record_at(ring, tail, head, joined_)) {
      if (auto record = parse_record(bytes)) records.push_back(std::move(*record));
      tail += bytes.size();
    }
    __atomic_store_n(&shared->data_tail, head, __ATOMIC_RELEASE);
  }

 private:
  size_t page_;
  core::Descriptor event_;
  std::byte *memory_;
  std::vector<std::byte> joined_;
};

class RingSampler final : public Sampler {
 public:
  core::Status open(const SamplerOptions &options) {
    max_stacks_ = options.max_stacks;
    perf_event_attr attributes{};
    attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
    attributes.sample_id_all = attributes.comm = attributes.comm_exec = attributes.task = 1;
    attributes.use_clockid = 1;
    attributes.clockid = CLOCK_MONOTONIC;
    auto events = open_events(options.event, options.frequency, attributes);
    if (!events) return core::Error{events.error()};
    events_ = std::move(*events);
    for (CpuEvent &event : events_.events)
      if (!add_ring(event.cpu, std::move(event.file))) return core::Error{"cannot map a perf ring: " + core::error_text(errno)};
    for (const auto &[cpu, ring] : rings_) ring.enable();
    return core::Done{};
  }

  std::string_view event() const override { return events_.name; }

  void pump(int stop, const OnSampled &on_sampled) override {
    pollfd wanted{stop, POLLIN, 0};
    if (::poll(&wanted, 1, kDrainEveryMs) != 0) return;
    std::vector<ProcessId> seen;
    {
      const std::lock_guard lock(mutex_);
      drain();
      seen.swap(new_);
    }
    for (const ProcessId &id : seen) on_sampled(id, false);
  }

  Totals take(const Callback &take) override {
    Counted counted;
    {
      const std::lock_guard lock(mutex_);
      drain();
      follow_cpus();
      counted = std::exchange(counted_, {});
    }
    for (const auto &[key, count] : counted.stacks) give(key, count, counted.doubtful, take);
    return counted.totals;
  }

 private:
  bool add_ring(int cpu, core::Descriptor event) {
    Ring ring(std::move(event));
    return ring && rings_.emplace(cpu, std::move(ring)).second;
  }

  void follow_cpus() {
    std::vector<int> sampled;
    sampled.reserve(rings_.size());
    for (const auto &ring : rings_) sampled.push_back(ring.first);
    const procfs::CpuChange change = procfs::change_of(sampled, procfs::online_cpus());
    for (const int cpu : change.removed) rings_.erase(cpu);
    for (const int cpu : change.added)
      if (core::Descriptor event = open_on(events_, cpu); event && add_ring(cpu, std::move(event))) rings_.at(cpu).enable();
  }

  struct Key {
    ProcessId process;
    std::vector<uint64_t> kernel, user;
    auto operator<=>(const Key &) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 reads a 0 into it
  };
  struct Count {
    std::string comm;
    uint64_t count = 0;
  };
  struct Counted {
    std::map<Key, Count> stacks;
    std::set<ProcessId> doubtful;
    Totals totals;
  };
  struct Known {
    ProcessId id;
    std::string comm;
    uint64_t read_ns = 0;
  };

  // Handles the records of all CPUs in order of time.
  void drain() {
    records_.clear();
    for (auto &[cpu, ring] : rings_) ring.drain(records_);
    std::stable_sort(records_.begin(), records_.end(),
                     [](const RingRecord &a, const RingRecord &b) { return a.time_ns < b.time_ns; });
    ends_.clear();
    for (const RingRecord &record : records_)
      if (is_end(record)) ends_[record.pid] = record.time_ns;
    for (RingRecord &record : records_) handle(record);
    if (known_.size() > kMaxProcesses) known_.clear();
  }

  // After this record the pid belongs to another program.
  static bool is_end(const RingRecord &record) {
    return record.type == RingRecord::Type::exec || (record.type == RingRecord::Type::exit && record.pid == record.tid);
  }

  void handle(RingRecord &record) {
    if (record.type == RingRecord::Type::lost) {
      counted_.totals.lost += record.lost;
      counted_.totals.samples += record.lost;
      known_.clear();  // an exec may have been among them
    }
    if (is_end(record)) forget(record);
    if ((record.type == RingRecord::Type::exec || record.type == RingRecord::Type::comm) && record.pid == record.tid)
      rename_process(record.pid, record.comm);
    if (record.type == RingRecord::Type::sample && record.pid > 0) count(record);
  }

  void forget(const RingRecord &record) {
    const auto known = known_.find(record.pid);
    if (known == known_.end()) return;
    // If the process was read after this event, its counts may include samples of the previous program.
    if (known->second.read_ns >= record.time_ns) counted_.doubtful.insert(known->second.id);
    known_.erase(known);
  }

  void rename_process(int32_t pid, const std::string &comm) {
    if (const auto known = known_.find(pid); known != known_.end()) known->second.comm = comm;
  }

  void count(RingRecord &record) {
    const Known &process = process_of(record);
    ++counted_.totals.samples;
    Key key{process.id, std::move(record.kernel), std::move(record.user)};
    auto found = counted_.stacks.find(key);
    if (found == counted_.stacks.end()) {
      if (counted_.stacks.size() >= max_stacks_) {
        ++counted_.totals.lost;
        return;
      }
      found = counted_.stacks.emplace(std::move(key), Count{process.comm}).first;
    }
    ++found->second.count;
  }

  const Known &process_of(const RingRecord &record) {
    if (const auto known = known_.find(record.pid); known != known_.end()) return known->second;
    // The pid now belongs to another program, or to none.
    const auto end = ends_.find(record.pid);
    if (end != ends_.end() && record.time_ns <= end->second) {
      exited_ = {{record.pid, 0, 0}, "exited"};
      return exited_;
    }
    return known_.emplace(record.pid, read(record.pid)).first->second;
  }

  Known read(int32_t pid) {
    static const auto ticks = static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
    Known known{{pid, 0, 0}, "exited"};
    auto text = core::read_file("/proc/" + std::to_string(pid) + "/stat", 4096);
    const auto mark = text ? symbols::parse_mark(*text) : std::nullopt;
    known.read_ns = static_cast<uint64_t>(core::monotonic());
    if (!mark) return known;
    known.comm = procfs::ProcessStat::parse(*text, 3)->name();
    known.id = {pid, mark->start_ticks * (1'000'000'000 / ticks), mark->image};
    if (mark->image != 0) new_.push_back(known.id);
    return known;
  }

  void give(const Key &key, const Count &count, const std::set<ProcessId> &doubtful, const Callback &take) const {
    ProcessId id = key.process;
    if (doubtful.count(id) != 0) id.image = 0;
    take({.process = id,
          .comm = count.comm,
          .has_user = key.process.image != 0 || !key.user.empty(),
          .end = key.kernel.size() + key.user.size() >= max_frames_ ? End::truncated : End::unknown,
          .kernel = key.kernel,
          .user = key.user,
          .count = count.count});
  }

  std::mutex mutex_;
  size_t max_stacks_ = 0;
  size_t max_frames_ = max_frames();  // of the kernel and user parts together
  CpuEvents events_;
  std::map<int, Ring> rings_;  // of each CPU
  std::vector<RingRecord> records_;
  std::unordered_map<int32_t, uint64_t> ends_;  // of this drain
  std::unordered_map<int32_t, Known> known_;
  Known exited_;
  std::vector<ProcessId> new_;
  Counted counted_;
};

}  // namespace

core::Result<std::unique_ptr<Sampler>> open_ring_sampler(const SamplerOptions &options) {
  if (options.off_cpu) return core::Error{"profile = \"offcpu\" requires BPF"};
  auto sampler = std::make_unique<RingSampler>();
  if (auto opened = sampler->open(options); !opened) return core::Error{opened.error()};
  return std::unique_ptr<Sampler>(std::move(sampler));
}

}  // namespace atalaya::perf
