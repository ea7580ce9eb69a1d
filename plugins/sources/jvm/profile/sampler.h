// SPDX-License-Identifier: Apache-2.0
// Samples JVMs on a separate thread: finds them, requests thread dumps as often as each JVM's
// share of the CPU budget allows, and builds their profiles.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "plugins/shared/code/tasks/task_names.h"
#include "plugins/sources/jvm/discovery.h"
#include "plugins/sources/jvm/hsperfdata_file.h"
#include "plugins/sources/jvm/numbers.h"
#include "plugins/sources/jvm/profile/pace.h"
#include "plugins/sources/jvm/profile/profile.h"
#include "plugins/sources/jvm/profile/slots.h"

namespace atalaya::jvm {

// Identifies a JVM: its pid may be reused.
using JvmId = std::pair<int32_t, uint64_t>;
JvmId id_of(const FoundJvm &jvm);

struct SamplerOptions {
  double budget = 0.02;  // maximum share of one core for all JVMs together
  int64_t min_interval_ns = 10'000'000;
  int64_t timeout_ns = 2'000'000'000;
  bool all_threads = false;
  std::shared_ptr<const tasks::TaskNames> tasks;  // null: stacks have no tasks
};

// The profile of one JVM in one window.
struct Profiled {
  FoundJvm jvm;
  Identity identity;
  std::optional<Reading> last;  // the JVM's counters at its last dump
  Profile::Window profile;
  int64_t cost_ns = 0, pause_ns = 0;
  uint64_t failures = 0, skipped = 0;
  bool is_complete = false;  // sampled during the complete window
  tasks::TaskTags task;      // task of the process; for an executor only the job

  bool has_result() const { return profile.dumps > 0 || failures > 0 || skipped > 0; }
};

class Sampler {
 public:
  // Maximum sampled JVMs; the slots are divided between users (slots.h).
  static constexpr size_t kMaxSampled = 256;

  using Report = std::function<void(std::string_view)>;
  // Decides from a JVM's hsperfdata bytes whether it is sampled. Called on the sampler's thread.
  using Wanted = std::function<bool(const FoundJvm &, std::string_view)>;

  Sampler(SamplerOptions options, Wanted wanted, Report report)
      : options_(options), wanted_(std::move(wanted)), report_(std::move(report)) {}
  Sampler(const Sampler &) = delete;
  Sampler &operator=(const Sampler &) = delete;
  ~Sampler() { stop(); }

  void start();
  void stop();
  // Returns the profiles since the last call, including those of ended JVMs; called on another thread. `spent`: share of a core
  // that the caller used for JVMs; it counts against the budget.
  std::map<JvmId, Profiled> end_window(double spent);
  // Discards the profiles of the window; failures are reported in the next one.
  void skip_window();
  // CPU time of the thread since its start.
  int64_t cpu_ns() const;

 private:
  struct SampledJvm {
    SampledJvm(const FoundJvm &found, Identity its_identity, const SamplerOptions &options, const StackTree::Limits &limits)
        : jvm(found),
          identity(std::move(its_identity)),
          profile(options.all_threads, limits, options.tasks),
          pace(found.target.mark.start_ticks * 0x9e3779b97f4a7c15 + static_cast<uint64_t>(found.target.pid)) {}
    FoundJvm jvm;
    Identity identity;
    tasks::TaskTags task;
    Attachment attachment;
    Profile profile;
    Pace pace;
    int64_t next_ns = 0, back_off_ns = 0;
    bool is_slow = true;                     // its dumps delay other JVMs, or it has not returned a dump yet
    bool has_ended = false, is_old = false;  // is_old: existed at the last call of end_window
    bool is_waiting = false;                 // lost its slot; never signal it a second time
    int64_t active_ns = 0;                   // time of the last dump in which a thread ran
    Profiled window;                         // the result of the window, without the profile
    std::string last_error;
  };
  // Cost of one thread dump, and the JVM's counters at that time.
  struct DumpCost {
    int64_t begin_ns = 0, own_ns = 0, pause_ns = 0;
    std::optional<Reading> last;
    ProcessCpu process;
  };

  void run();
  // Finds new and ended JVMs.
  void find_jvms();
  bool is_known(const JvmId &id);
  // Returns the JVMs that wait for a slot (`waiting`), or those that are sampled.
  std::vector<std::shared_ptr<SampledJvm>> jvms(bool waiting) const;
  static std::vector<Candidate> candidates(const std::vector<std::shared_ptr<SampledJvm>> &jvms);
  // Frees a slot for a JVM of `user`. Returns false if none can be freed.
  bool free_slot(uint32_t user);
  void fill_slots();
  void add(const FoundJvm &jvm);
  void end(SampledJvm &sampled);
  // Returns the maximum share of a core for each JVM.
  double share() const;
  StackTree::Limits limits() const;
  size_t sampled_count() const;  // at least 1
  int64_t due_ns(const SampledJvm &sampled) const;
  // Returns the JVM whose dump is due first; null if there is no JVM.
  std::shared_ptr<SampledJvm> next_due() const;
  void sample(SampledJvm &sampled);
  core::Result<std::string_view> dump(SampledJvm &sampled, DumpCost &cost);
  void add_dump(SampledJvm &sampled, core::Result<std::string_view> &text, const DumpCost &cost);
  void record_failure(SampledJvm &sampled, const std::string &error);
  void skip(SampledJvm &sampled);

  SamplerOptions options_;
  Wanted wanted_;
  Report report_;
  std::thread thread_;
  // Used only by the sampler's thread; buffers are reused.
  std::string bytes_;
  HsperfdataBytes shared_;
  Discovery discovery_;
  Pace find_pace_{1};
  bool logged_full_ = false;

  std::mutex mutex_;  // guards the members below and those of SampledJvm except `jvm` and `attachment`
  std::condition_variable changed_;
  bool is_stopped_ = true;
  std::map<JvmId, std::shared_ptr<SampledJvm>> sampled_;
  std::map<uint32_t, int64_t> slow_until_ns_;  // by user: no dump of a slow JVM before this CLOCK_MONOTONIC time
  int64_t find_ns_ = 0;                        // time of the next search for JVMs
  double spent_ = 0, search_share_ = 0;        // shares of a core: used by the caller of end_window, and by searches for JVMs
};

}  // namespace atalaya::jvm
