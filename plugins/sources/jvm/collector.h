// SPDX-License-Identifier: Apache-2.0
// Converts the counters and thread profiles of all JVMs to the samples of a window.
#pragma once

#include <atalaya/plugin.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/io/match/matcher.h"
#include "plugins/sources/jvm/discovery.h"
#include "plugins/sources/jvm/numbers.h"
#include "plugins/sources/jvm/profile/sampler.h"

namespace atalaya::jvm {

struct Options {
  io::MatcherList processes, main;
  bool profile = true;
  SamplerOptions sampler;
  size_t top = 32, stacks = 1000;
  bool flags = false;
};

class Collector {
 public:
  Collector(Host host, Options options);

  void start();
  void stop();
  void collect(const Window &window, Batch &batch);

 private:
  // State of a JVM at the end of the last window.
  struct Known {
    std::optional<Reading> before;
    JvmClock clock;
    Identity identity;   // read at every window until the JVM is up, and once after that
    bool is_up = false;  // the JVM has started, so its identity is complete
    std::string comm;
    int64_t seen_ns = 0;  // end of the last window in which the JVM existed
    uint64_t windows = 0;
    int64_t start_ns = 0;  // start of the process
  };
  struct Names {
    explicit Names(Host host);
    std::vector<uint32_t> counters;  // metric ids, in the order of kCounterMetrics
    uint32_t process, pid, cause, function, profile, bias, version, vm, collector, flags, job, stage, task, attempt;
    uint32_t start, quality, cause_seen, pauses, pause_mean, pause_max, running, native, blocked, waiting, sleeping;
    uint32_t rate, cost, pause, cpu, unseen, excess, failures, skipped, lost, self, samples, ns, on_cpu, count, unshared,
        source_cost;
  };
  // The tags of one JVM; the texts are in the batch's arena.
  struct JvmTags {
    atalaya_str process, pid;
  };
  // A JVM and its counters in this window; absent counters: it has no hsperfdata file.
  struct JvmReading {
    FoundJvm jvm;
    int64_t start_ns = 0;
    std::optional<Reading> now, before;
  };

  bool is_wanted(const FoundJvm &jvm, std::string_view bytes) const;
  // Reads all selected JVMs.
  std::vector<JvmReading> read_all(const Window &window);
  // Parses the bytes of a JVM's file, which were read after `begin_ns`.
  JvmReading read(const FoundJvm &jvm, std::string_view bytes, int64_t begin_ns, const Window &window);
  // Returns the last counters of a JVM that has ended after its profile started.
  JvmReading read_ended(const Profiled &profiled, const Window &window);
  static void set_readings(JvmReading &seen, std::optional<Reading> before, Reading now, const Known &known, const Window &window);
  Known &known_of(const FoundJvm &jvm, bool &is_new);
  std::optional<Reading> before(const Known &known, const JvmCounters &now, bool is_new, const Window &window) const;
  std::map<JvmId, Profiled> take_profiles(bool is_window);
  void emit(const JvmReading &seen, const Profiled *profiled, int64_t passed_ns, Batch &batch);
  void add_shared(const JvmReading &seen, Sample &sample, Batch &batch);
  void add_exports(const JvmReading &seen, Sample &sample, Batch &batch);
  // Returns the metric id of an exported field; empty if there are too many names.
  std::optional<uint32_t> export_id(const std::string &name);
  void report_excess(const Profiled &window);
  void add_profile(const Profiled &window, int64_t passed_ns, Sample &sample, Batch &batch);
  void add_pauses(const JvmReading &seen, Sample &sample, const JvmTags &jvm_tags, Batch &batch);
  void emit_cause(const JvmReading &seen, const JvmTags &jvm_tags, Batch &batch);
  void emit_functions(const Profile::Window &profile, int64_t passed_ns, const JvmTags &jvm_tags, Batch &batch);
  void emit_stacks(const Profiled &profiled, const JvmTags &jvm_tags, Batch &batch);
  Sample &emit_stack(const char *kind, const std::string &text, const Time &time, bool is_model, const JvmTags &jvm_tags,
                     Batch &batch);
  void emit_span(const JvmId &id, const Known &known, int64_t until_ns, Batch &batch);
  void emit_spans(const Window &window, Batch &batch);
  void emit_account(size_t count, int64_t cost_ns, int64_t passed_ns, Batch &batch);
  JvmTags jvm_tags(int32_t pid, std::string_view comm, Batch &batch) const;
  Sample &sample(uint32_t kind, const JvmTags &jvm_tags, uint32_t tags, uint32_t fields, Batch &batch) const;

  Host host_;
  Options options_;
  Names names_;
  Discovery discovery_;
  Sampler sampler_;
  HsperfdataBytes bytes_;
  std::map<JvmId, Known> known_;
  std::map<std::string, uint32_t> export_ids_;
  size_t without_counters_ = 0;
  bool logged_excess_ = false;                          // logged: a JVM reports more CPU time than its process
  bool logged_missing_ = false;                         // logged: JVMs of other users may be missing
  bool logged_exports_ = false, logged_names_ = false;  // logged: a limit of exported fields or names was reached
  int64_t last_ns_ = 0, sampler_cpu_ns_ = 0;
  double spent_ = 0;  // share of a core that the collecting thread used in the last window
};

}  // namespace atalaya::jvm
