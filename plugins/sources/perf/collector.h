// SPDX-License-Identifier: Apache-2.0
// Converts the sampler's stacks of one window to samples: adds symbol names and sums equal
// stacks.
#pragma once

#include <atalaya/plugin.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/base/files.h"
#include "plugins/shared/io/match/matcher.h"
#include "plugins/sources/perf/folder.h"
#include "plugins/sources/perf/processes.h"
#include "plugins/sources/perf/sampling/sampler.h"
#include "plugins/sources/perf/tasks/region_tasks.h"
#include "plugins/sources/perf/tasks/task_namer.h"

namespace atalaya::perf {

struct Options {
  SamplerOptions sampler;
  std::string backend = "auto";
  bool kernel = true;
  bool modules = false;
  io::MatcherList processes, cgroups;
  bool jvm = true;
  int64_t jvm_refresh_ns = 60'000'000'000;
  size_t symbol_memory = size_t{64} << 20;
  bool container_tag = false, runtime_tag = false, reason_tag = false;
  std::shared_ptr<tasks::TaskNames> tasks;  // null: stacks have no tasks
  std::vector<probes::Region> task_regions;
};

class Collector {
 public:
  Collector(Host host, Options options);
  Collector(const Collector &) = delete;
  Collector &operator=(const Collector &) = delete;
  ~Collector() { stop(); }

  void start();
  void stop();
  void collect(const Window &window, Batch &batch);

 private:
  struct Sum {
    uint64_t count = 0, ns = 0;
  };
  // Identity of the stacks that are summed. It does not change on exec; two processes with the same pid in one window have
  // the same.
  struct GroupId {
    int32_t pid = 0;
    std::string comm;
    std::string_view profile, reason;
    std::string owner;  // the owner of a wait, in bursts only
    tasks::TaskTags task;
    auto operator<=>(const GroupId &) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 reads a 0 into it
  };
  struct Group {
    std::string container;
    std::string_view runtime;
    std::unordered_map<std::string, Sum> stacks;
  };
  // Amounts of one window.
  struct Account {
    uint64_t filtered = 0, filtered_waits = 0, incomplete = 0, lost_stacks = 0, unnamed_tasks = 0, lost_tasks = 0;
  };
  struct Names {
    explicit Names(Host host);
    uint32_t profile, process, pid, container, runtime, reason, owner, job, stage, task, attempt, samples, ns;
    uint32_t all, lost, lost_stacks, incomplete, filtered, not_copied, frames, unnamed, cpu_kernel, cpu_user, memory, jvm_failures;
    uint32_t unnamed_tasks, lost_tasks;
    uint32_t burst_time, burst_waits, burst_lost, burst_filtered, burst_unfollowed;
  };

  void open_sampler();
  void pump();
  void pump_once();
  void take(const StackCount &stack);
  void take_wait(const StackCount &stack, const Waker &waker);
  std::optional<Process *> admit(const StackCount &stack, uint64_t &filtered);
  bool fold(const StackCount &stack, const Process *process);
  std::string fold_owner(const StackCount &stack, const Waker &waker, std::string_view reason);
  void append_waker(const Waker &waker);
  std::string_view reason_of_text(const StackCount &stack) const;
  Group &group_of(const StackCount &stack, const Process *process, std::string_view profile, std::string_view reason,
                  std::string owner);
  tasks::TaskTags task_of(const StackCount &stack, const Process *process);
  void add(const StackCount &stack, Group &group);
  bool is_wanted(const StackCount &stack, const Process *process) const;
  void refresh_kernel_symbols(int64_t now_ns);
  void read_kernel_symbols();
  void forget_groups();
  void emit_stacks(Batch &batch);
  void emit_runs(Batch &batch);
  void emit_group(const GroupId &id, const Group &group, Batch &batch);
  void emit_account(const Window &window, const Totals &totals, const BurstTotals &bursts, int64_t cpu_ns, Batch &batch);
  void add_bursts(const BurstTotals &bursts, Batch &batch, Sample &sample) const;
  int64_t pump_cpu_ns() const;

  Host host_;
  Options options_;
  Names names_;
  jvm::PerfMapRefresh jvm_;
  symbols::ElfFiles files_;
  Processes processes_;
  Folder folder_;
  std::optional<symbols::KernelSymbols> kernel_;
  int64_t kernel_read_ns_ = 0;
  size_t kernel_hash_ = 0;  // hash of the text of /proc/kallsyms
  std::unique_ptr<TaskNamer> namer_;
  std::unique_ptr<Sampler> sampler_;
  RegionTasks regions_;  // declared last, because its probes use the sampler, which must be destroyed later
  std::thread thread_;
  core::Descriptor stop_;
  bool pump_failed_ = false;
  std::map<GroupId, Group> groups_;
  size_t group_bytes_ = 0;
  Account account_;
  std::string text_, waker_text_;
  int64_t pump_before_ns_ = 0;
};

}  // namespace atalaya::perf
