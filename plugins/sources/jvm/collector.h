// SPDX-License-Identifier: Apache-2.0
// A window of all JVMs: what they share, and what their threads were seen doing, as samples.
#pragma once

#include <atalaya/plugin.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/match/matcher.h"
#include "plugins/sources/jvm/discovery.h"
#include "plugins/sources/jvm/numbers.h"
#include "plugins/sources/jvm/sampler.h"

namespace atalaya::jvm {

struct Options {
  core::MatcherList processes, main;
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
  // What was known of a JVM at the last window.
  struct Known {
    std::optional<Reading> before;
    Identity identity;
    std::string comm;
    int64_t seen_ns = 0;  // the end of the last window with it
    uint64_t windows = 0;
    int64_t start_ns = 0;  // of the process
  };
  struct Names {
    explicit Names(Host host);
    std::vector<uint32_t> shown;  // as kShown
    uint32_t process, pid, cause, function, profile, bias, version, vm, collector, flags;
    uint32_t start, quality, cause_seen, running, native, blocked, waiting, sleeping;
    uint32_t rate, cost, pause, cpu, unseen, failures, skipped, lost, self, samples, ns, on_cpu, count, unshared, source_cost;
  };
  // The tags of one JVM, in the batch.
  struct Who {
    atalaya_str process, pid;
  };
  // What a JVM shares in this window; nothing: it shares nothing.
  struct Seen {
    FoundJvm jvm;
    int64_t start_ns = 0;
    std::optional<Reading> now, before;
  };

  bool is_wanted(const FoundJvm &jvm, std::string_view bytes) const;
  // Those that are wanted.
  std::vector<Seen> read_all(const Window &window);
  Seen read(const FoundJvm &jvm, std::string_view bytes, const Window &window);
  // One that has ended since it was profiled.
  Seen read_ended(const Profiled &profiled, const Window &window);
  Known &known_of(const FoundJvm &jvm, bool &is_new);
  std::optional<Reading> before(const Known &known, const Shared &now, bool is_new, const Window &window) const;
  std::map<JvmId, Profiled> take_profiles(bool is_window);
  void emit(const Seen &seen, const Profiled *profiled, int64_t passed_ns, Batch &batch);
  void put_shared(const Seen &seen, Sample &sample, Batch &batch);
  void put_exports(const Seen &seen, Sample &sample, Batch &batch);
  // Nothing: too many have been named.
  std::optional<uint32_t> export_id(const std::string &name);
  void put_profile(const Profiled &window, int64_t passed_ns, Sample &sample, Batch &batch);
  void emit_cause(const Seen &seen, const Who &who, Batch &batch);
  void emit_functions(const Profile::Window &profile, int64_t passed_ns, const Who &who, Batch &batch);
  void emit_stacks(const Profile::Window &profile, const Who &who, Batch &batch);
  Sample &emit_stack(const char *kind, const std::string &text, const Time &time, bool is_model, const Who &who, Batch &batch);
  void emit_span(const JvmId &id, const Known &known, int64_t until_ns, Batch &batch);
  void emit_spans(const Window &window, Batch &batch);
  void emit_account(size_t count, int64_t cost_ns, int64_t passed_ns, Batch &batch);
  Who who(int32_t pid, std::string_view comm, Batch &batch) const;
  Sample &sample(uint32_t kind, const Who &who, uint32_t tags, uint32_t fields, Batch &batch) const;

  Host host_;
  Options options_;
  Names names_;
  Discovery discovery_;
  Sampler sampler_;
  SharedBytes bytes_;
  std::map<JvmId, Known> known_;
  std::map<std::string, uint32_t> export_ids_;
  size_t unshared_ = 0;
  bool is_told_ = false;                                        // that JVMs are missing
  bool is_told_of_exports_ = false, is_told_of_names_ = false;  // that some are left out
  int64_t last_ns_ = 0, sampler_cpu_ns_ = 0;
  double spent_ = 0;  // of a core, by this thread in the last window
};

}  // namespace atalaya::jvm
