// SPDX-License-Identifier: Apache-2.0
// The verb watch.
#include <cstdio>
#include <limits>

#include "core/base/now.h"
#include "core/base/text/safe_text.h"
#include "plugins/commands/phases/verbs.h"
#include "plugins/commands/phases/watch/watch.h"
#include "plugins/shared/store/query/pieces.h"

namespace atalaya::phases {
namespace {

class StoredRuns final : public WatchedRuns {
 public:
  // `normal`: range of the normal runs.
  StoredRuns(const PhasesOptions &args, store::Store &store, const store::Range &normal, const PhaseDatabase &database)
      : asked_(args), store_(store), normal_(normal), database_(database) {}

  std::vector<ProgramRun> since(int64_t from_ns) {
    query::Budget budget(asked_.options.limits);
    return read_runs(store_, asked_.wanted(all_since(from_ns)), database_, budget);
  }

  std::vector<ProgramRun> normal(const std::string &process) override {
    query::Budget budget(asked_.options.limits);
    Wanted of = asked_.wanted(normal_);
    of.tags.push_back({"process", {query::exact_pattern(process)}});
    try {
      return runs_by_program(store_, of, database_, budget)[process];
    } catch (const query::TooMuch &error) {
      std::fprintf(stderr, "phases of %s are not compared, --train-from selects fewer runs: %s\n", core::visible(process).c_str(),
                   error.what());
    }
    return {};
  }

  std::vector<ProgramRun> since(const ProgramRun &run, int64_t from_ns) override {
    query::Budget budget(asked_.options.limits);
    try {
      return read_runs(store_, of_process(asked_.wanted(all_since(from_ns)), run), database_, budget);
    } catch (const query::TooMuch &error) {
      std::fprintf(stderr, "a phase of %s %s is not compared, it has too many phases before it: %s\n",
                   core::visible(run.process).c_str(), core::visible(run.pid).c_str(), error.what());
    }
    return {};
  }

  bool read_functions(const ProgramRun &run, Step &step) override {
    query::Budget budget(asked_.options.limits);
    try {
      phases::read_functions(store_, run, step, budget);
      return true;
    } catch (const query::TooMuch &error) {
      std::fprintf(stderr, "the functions of phase %s of %s %s are unknown: %s\n", core::visible(step.phase).c_str(),
                   core::visible(run.process).c_str(), core::visible(run.pid).c_str(), error.what());
    }
    return false;
  }

 private:
  static store::Range all_since(int64_t from_ns) { return {from_ns, std::numeric_limits<int64_t>::max()}; }

  const PhasesOptions &asked_;
  store::Store &store_;
  const store::Range normal_;
  const PhaseDatabase &database_;
};

}  // namespace

int watch_phases(const PhasesOptions &args, command_line::Reading &reading, const PhaseDatabase &database,
                 Interruption &interruption) {
  constexpr int64_t kHour = 3'600'000'000'000;
  StoredRuns runs(args, *reading.store, args.training_range(reading, reading.now_ns), database);
  Watcher watcher(database, runs);
  std::fprintf(stderr, "known phases: %zu; a program is learned at the end of its first run\n", database.phases().size());
  do {
    const int64_t now_ns = core::realtime(), from_ns = now_ns - kHour;
    std::fputs(watcher.new_lines(runs.since(from_ns), from_ns, now_ns).c_str(), stdout);
    std::fflush(stdout);
  } while (interruption.passes(std::chrono::seconds(1)));
  return 0;
}

}  // namespace atalaya::phases
