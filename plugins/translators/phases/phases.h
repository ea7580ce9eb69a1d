// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "plugins/shared/analysis/phases/database.h"
#include "plugins/shared/analysis/phases/spans.h"
#include "plugins/shared/io/match/matcher.h"
#include "plugins/shared/io/samples/own_cost.h"
#include "plugins/translators/phases/metrics.h"
#include "plugins/translators/phases/watched_process.h"

namespace atalaya::phases {

// Recognises the phases of processes from their stacks, tags their samples, and emits spans.
class PhasesTranslator final : public Translator {
 public:
  static constexpr Param kProcess[] = {param::string("", "A process name, or pattern").unit("NAME")};
  static constexpr Param kPattern[] = {param::string("", "Pattern of functions").unit("pattern")};
  static constexpr Param kParams[] = {
      param::list("processes", kProcess, "Processes to watch (default: all with stacks)"),
      param::choice("key", "function|stack", "Unit of comparison: functions anywhere in stacks, or whole stacks")
          .defaults("function"),
      param::string("store", "Store with the known phases, as --store (default: the agent's store); \"none\": start without any")
          .unit("STORE"),
      param::integer("buffer", "Samples without a known phase after which new phases are learned")
          .defaults("120")
          .range(20, 3600)
          .unit("samples"),
      param::integer("least", "Minimum length of a new phase").defaults("5").range(2, 1000).unit("samples"),
      param::number("similarity", "Minimum f_sim and t_sim of a match").defaults("0.95").range(0.5, 1),
      param::number("rare", "Share of threads below which a function is rare").defaults("0.02").range(0, 0.5),
      param::map("groups", kPattern,
                 "Phases of their own by the functions that threads are in (default: shuffle = \"~[Ss]huffle\")")
          .unit("NAME"),
      param::choice("tag", "all|stacks|none", "Samples of the process that get the tag phase").defaults("all"),
      param::integer("max_processes", "Maximum processes; further ones pass unchanged").defaults("256").range(1, 10000),
  };
  static constexpr Description description = {.name = "phases"_str,
                                              .summary = "Recognise the phases of processes from their stacks"_str,
                                              .params = kParams,
                                              .metrics = kPhaseMetrics};

  explicit PhasesTranslator(Host host);
  void start() override;
  void stop() override;
  Code process(const Window &window, Batch &batch) override;

 private:
  struct Names {
    explicit Names(Host from);
    uint32_t host, pid, process, profile, phase, application, definition, samples, start;
    uint32_t span_samples, processes, known, buffered, learned, lost, trace, cost;
  };
  static constexpr size_t kMaxIdlePrograms = 64;
  using Id = std::tuple<std::string, std::string>;  // host and pid

  WatchedProcess *process_of(const Sample &sample);
  std::shared_ptr<Program> program_of(const std::string &name);
  void forget_programs();
  void read(const Window &window, Batch &batch);
  void read_sample(const Window &window, const Sample &sample, WatchedProcess &process) const;
  void tag_samples(Batch &batch);
  void advance(const Window &window, Batch &batch);
  void emit(WatchedProcess &process, std::vector<Occurrence> &changed, Batch &batch);
  void emit_span(const WatchedProcess &process, const std::string &phase, const Occurrence &occurrence, Batch &batch);
  void emit_definition(WatchedProcess &process, size_t phase, Batch &batch);
  void emit_metrics(const Window &window, int64_t cpu_ns, Batch &batch);
  uint32_t field_id(const std::string &name);

  Host host_;
  const Names names_;
  io::MatcherList processes_filter_;
  Key key_;
  std::string store_;
  Likeness likeness_;
  CharacteriserOptions options_;
  std::vector<Group> groups_;
  std::string tag_;
  size_t max_processes_;

  PhaseDatabase database_;
  std::map<std::string, std::shared_ptr<Program>> programs_;
  std::map<Id, std::unique_ptr<WatchedProcess>> processes_;
  std::vector<WatchedProcess *> process_of_sample_;  // by position in the batch: the process of the sample; null: not watched
  std::map<std::string, uint32_t> field_ids_;
  std::vector<std::unique_ptr<WatchedProcess>> ended_;
  uint64_t learned_ = 0, created_ = 0, trace_bits_ = 0;
  io::OwnCost cost_;
  bool is_full_logged_ = false;
};

}  // namespace atalaya::phases
