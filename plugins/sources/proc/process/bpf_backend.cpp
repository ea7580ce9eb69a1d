// SPDX-License-Identifier: Apache-2.0
// The backend "bpf": loads bpf/proc.bpf.c and reads its records; passes are those of bpf/proc_pass.bpf.c where the kernel has them.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atalaya/plugin.hpp>

#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bpf/proc.h"
#include "core/base/files.h"
#include "core/base/now.h"
#include "core/base/text/text.h"
#include "plugins/shared/host/bpf/loading.h"
#include "plugins/shared/host/bpf/ring.h"
#include "plugins/shared/host/procfs/files.h"
#include "plugins/sources/proc/process/bpf_pass.h"
#include "plugins/sources/proc/process/bpf_records.h"
#include "plugins/sources/proc/process/process_backend.h"
#include "proc.skel.h"

namespace atalaya::proc {
namespace {

// The kernel's buffer of an iterator holds 8 pages; a read returns its contents, whole records.
constexpr size_t kBuffer = size_t{64} << 10;
// At first all processes are reported in full, as many in each call as fit. Later an overflow means that too many run.
constexpr uint32_t kFirstOverflows = 8, kIterations = 64;
constexpr uint64_t kUnfreedAfter = 12'000'000'000, kSweepEvery = 3'000'000'000;
constexpr size_t kMaxUnfreed = 8192;  // the map's size: a walk through a map that changes may meet a key twice

struct SkeletonDeleter {
  void operator()(proc_bpf *skeleton) const { proc_bpf__destroy(skeleton); }
};
using Skeleton = std::unique_ptr<proc_bpf, SkeletonDeleter>;

class BpfBackend final : public ProcessBackend {
 public:
  explicit BpfBackend(const BpfOptions &options) : pass_bytes_(options.pass_bytes), turn_ns_(options.turn_ns) {}

  core::Status open(bool exits) {
    bpf::capture_messages();
    // Older kernels refuse parts of the program: first leave out exact memory (5.14 and 5.18), then ends of processes.
    core::Status loaded = core::Done{};
    for (const Parts parts : {Parts{exits, true}, Parts{exits, false}, Parts{false, false}}) {
      bpf::take_message();
      if (load(parts)) {
        if (exits && !parts.exits)
          limitation_ = "ended processes have no samples, their CPU time is in unattributed: " + loaded.error();
        loaded = core::Done{};
        break;
      }
      std::string text = bpf::take_message();
      loaded = core::Error{text.empty() ? "the kernel refused the program" : std::move(text)};
    }
    ::malloc_trim(0);  // the kernel's type information took several MiB
    return loaded;
  }

  std::string_view limitation() const override { return limitation_; }
  bool at_once() const override { return pass_ != nullptr; }

  std::optional<uint64_t> uptime() override { return static_cast<uint64_t>(core::clock_ns(CLOCK_BOOTTIME)); }

  void read(ProcessModel &model) override {
    const uint32_t turn = next_turn();
    if (iterations_left_ > 0) {
      --iterations_left_;
      return iterate(turn, model);
    }
    if (const auto records = pass_ ? pass_->read(turn) : std::nullopt) {
      take(*records, model);
      return;
    }
    if (pass_ && ++overflows_ > kFirstOverflows) iterations_left_ = kIterations;
    iterate(turn, model);
  }

  void follow_exits(const ProcessModel &model, OnExit take) override {
    const auto lock = lock_exits();
    model_ = &model;
    on_exit_ = std::move(take);
  }

  std::unique_lock<std::mutex> lock_exits() override { return ring_ ? ring_->lock() : std::unique_lock<std::mutex>(); }

  void report_exits() override {
    if (!ring_ || !on_exit_) return;
    ring_->drain_locked();
    collect_unfreed();
  }

  std::optional<uint64_t> lost_exits() const override {
    return ring_ ? std::optional<uint64_t>(skeleton_->bss->lost_exits) : std::nullopt;
  }

 private:
  struct Parts {
    bool exits, exact_memory;
  };

  // Passes in short succession, as those of a flight recorder, share a turn: the idle processes would be most of their cost.
  uint32_t next_turn() {
    const int64_t now = core::monotonic();
    if (now < next_turn_ns_) return PROC_TURNS;
    next_turn_ns_ = now + turn_ns_;
    last_turn_ = (last_turn_ + 1) % PROC_TURNS;
    return last_turn_;
  }

  void iterate(uint32_t turn, ProcessModel &model) {
    skeleton_->bss->turn = turn;
    const core::Descriptor iterator(bpf_iter_create(bpf_link__fd(iterator_.get())));
    if (!iterator) throw_failure(errno);
    size_t kept = 0;
    for (;;) {
      const ssize_t size = ::read(iterator.get(), buffer_.data() + kept, buffer_.size() - kept);
      if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (size < 0) throw_failure(errno);
      if (size == 0) break;
      const size_t filled = kept + static_cast<size_t>(size);
      const size_t taken = take(std::span(buffer_).first(filled), model);
      kept = filled - taken;
      std::memmove(buffer_.data(), buffer_.data() + taken, kept);
    }
  }

  size_t take(std::span<const std::byte> records, ProcessModel &model) {
    return parse_records(
        records, [&](const proc_record &record) { update(model, record); }, [&](int32_t pid) { model.mark_idle(pid); });
  }

  // An incomplete list would make the missing processes seem ended. The next pass reports all that this one lost.
  [[noreturn]] void throw_failure(int error) {
    std::fill(std::begin(skeleton_->bss->seen), std::end(skeleton_->bss->seen), 0);
    if (pass_) pass_->forget();
    throw Failure(Code::retry, "cannot read the kernel's list of processes: " + core::error_text(error));
  }

  bool load(Parts parts) {
    pass_.reset();  // of an earlier attempt
    exit_.reset();
    free_.reset();
    ring_.reset();
    Skeleton skeleton(proc_bpf__open());
    if (!skeleton) return false;
    skeleton->rodata->follows_exits = parts.exits;
    bpf_program__set_autoload(skeleton->progs.process_exits, parts.exits);
    bpf_program__set_autoload(skeleton->progs.process_is_freed, parts.exits);
    bpf_program__set_autoload(skeleton->progs.find_cpu_offsets, parts.exact_memory);
    if (proc_bpf__load(skeleton.get()) != 0) return false;
    if (parts.exact_memory) find_cpu_offsets(*skeleton);
    if (parts.exits && !attach_exits(*skeleton)) return false;
    iterator_.reset(bpf_program__attach_iter(skeleton->progs.every_process, nullptr));
    skeleton_ = std::move(skeleton);
    if (!iterator_) return false;
    if (pass_bytes_ > 0) pass_ = BpfPass::open(*skeleton_, pass_bytes_);
    return true;
  }

  static void find_cpu_offsets(proc_bpf &skeleton) {
    bpf_test_run_opts options{};
    options.sz = sizeof(options);
    auto &shared = *skeleton.bss;
    if (bpf_prog_test_run_opts(bpf_program__fd(skeleton.progs.find_cpu_offsets), &options) != 0) return;
    // Uses the counters of all CPUs or none, because a sum over some CPUs would be wrong.
    if (shared.anchor_count != static_cast<uint32_t>(libbpf_num_possible_cpus())) return;
    for (uint32_t cpu = 0; cpu < shared.anchor_count; ++cpu)
      shared.cpu_offsets[cpu] = shared.anchor_values[cpu] - shared.anchor_pointer;
    shared.cpu_count = shared.anchor_count;
  }

  bool attach_exits(proc_bpf &skeleton) {
    exit_.reset(bpf_program__attach_trace(skeleton.progs.process_exits));
    free_.reset(bpf_program__attach_trace(skeleton.progs.process_is_freed));
    ring_ = std::make_unique<bpf::Ring>([this](const void *data, size_t size) {
      if (on_exit_ && size >= sizeof(proc_exit)) on_exit_(reading_of(*static_cast<const proc_exit *>(data)));
    });
    return exit_ && free_ && ring_->open(bpf_map__fd(skeleton.maps.exits), "proc ends");
  }

  // The kernel frees a process after a grace period, which may take 10 s on an idle host (CONFIG_RCU_LAZY). Of a few in a
  // thousand it does not report the freeing at all (seen with Linux 6.18): their usage up to the exit counts.
  void collect_unfreed() {
    const auto time = static_cast<uint64_t>(core::monotonic());
    if (time < next_sweep_ns_) return;
    next_sweep_ns_ = time + kSweepEvery;
    const int map = bpf_map__fd(skeleton_->maps.leaving);
    unfreed_.clear();
    proc_key key{};
    proc_leaving entry{};
    for (const proc_key *last = nullptr; bpf_map_get_next_key(map, last, &key) == 0 && unfreed_.size() < kMaxUnfreed; last = &key) {
      if (bpf_map_lookup_elem(map, &key, &entry) != 0 || entry.exit_ns + kUnfreedAfter > time) continue;
      if (!model_->pass_includes(static_cast<int32_t>(key.pid), key.start_ns))
        unfreed_.emplace_back(key, entry);  // else it is a zombie
    }
    for (const auto &[ended_key, end] : unfreed_) {
      bpf_map_delete_elem(bpf_map__fd(skeleton_->maps.ended_threads), &ended_key);
      if (bpf_map_delete_elem(map, &ended_key) == 0) on_exit_(reading_of(ended_key, end));
    }
  }

  void update(ProcessModel &model, const proc_record &record) {
    procfs::ProcessReading reading = reading_of(record);
    if (reading.kernel_thread && reading.name.text().size() == PROC_COMM - 1) reading.name = whole_name(reading);
    model.update(reading);
  }

  // Names of kernel threads may be longer than the comm field; only procfs shows them in full. There are few.
  const procfs::Name &whole_name(const procfs::ProcessReading &reading) {
    LongName &known = long_names_[reading.pid];
    if (known.start_ns == reading.start_ns) return known.name;
    known = {reading.start_ns, reading.name};
    std::array<char, 128> buffer{};
    const std::string path = std::to_string(reading.pid) + "/comm";
    std::string_view text = procfs::read_path(procfs_.get(), path.c_str(), buffer).text;
    if (text.starts_with(reading.name.text())) known.name = procfs::Name(procfs::stable_name(core::cut_at(text, '\n')));
    return known.name;
  }

  struct LongName {
    uint64_t start_ns = 0;
    procfs::Name name;
  };

  const uint32_t pass_bytes_;
  const int64_t turn_ns_;
  int64_t next_turn_ns_ = 0;  // CLOCK_MONOTONIC
  uint32_t last_turn_ = 0;
  Skeleton skeleton_;
  std::unique_ptr<BpfPass> pass_;  // null: the kernel is too old
  uint32_t overflows_ = 0, iterations_left_ = 0;
  bpf::Link iterator_, exit_, free_;
  std::string limitation_;
  uint64_t next_sweep_ns_ = 0;
  std::vector<std::pair<proc_key, proc_leaving>> unfreed_;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(kBuffer);
  core::Descriptor procfs_{::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC)};
  std::unordered_map<int32_t, LongName> long_names_;
  const ProcessModel *model_ = nullptr;
  OnExit on_exit_;
  std::unique_ptr<bpf::Ring> ring_;  // last: its thread uses the other members
};

}  // namespace

core::Result<std::unique_ptr<ProcessBackend>> open_bpf_backend(BpfOptions options) {
  if (const core::Status usable = bpf::check(); !usable) return core::Error{usable.error()};
  auto backend = std::make_unique<BpfBackend>(options);
  if (const core::Status opened = backend->open(options.exits); !opened) return core::Error{opened.error()};
  return std::unique_ptr<ProcessBackend>(std::move(backend));
}

}  // namespace atalaya::proc
