// SPDX-License-Identifier: Apache-2.0
// Command phases: what programs do when, what their next part will cost, and what is not normal.
#include <atalaya/plugin.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <limits>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/files.h"
#include "core/base/now.h"
#include "core/base/safe_text.h"
#include "core/base/suggest.h"
#include "core/base/text.h"
#include "plugins/commands/phases/json.h"
#include "plugins/commands/phases/learn.h"
#include "plugins/commands/phases/picture.h"
#include "plugins/commands/phases/tables.h"
#include "plugins/commands/phases/verdict.h"
#include "plugins/commands/phases/watch.h"
#include "plugins/commands/phases/write_spans.h"
#include "plugins/shared/analysis/query/options.h"
#include "plugins/shared/analysis/query/output.h"
#include "plugins/shared/analysis/query/pieces.h"
#include "plugins/shared/analysis/query/ranges.h"
#include "plugins/shared/analysis/query/render.h"
#include "plugins/shared/analysis/query/time_text.h"

namespace atalaya::phases {
namespace {

using query::Wrong;

constexpr size_t kMaxImport = size_t{64} << 20;

std::string text_or_empty(Host host, std::string_view name) {
  const auto value = host.find(name);
  return value ? std::string(value->text()) : "";
}

class PhasesCommand final : public Command {
 public:
  static constexpr auto params = query::joined(
      query::kWindowParams,
      query::listed(
          param::list("process", query::kText, "Only processes with this name, or pattern").unit("NAME"),
          param::list("host", query::kText, "Only processes of this host, or pattern").unit("HOST"), query::kTag,
          param::choice("profile", "auto|wall|cpu",
                        "Stacks that learn reads: thread dumps, samples on CPUs; auto: dumps where there are some")
              .defaults("auto"),
          param::choice("key", "function|stack", "Unit of comparison of learn: functions anywhere in stacks, or whole stacks")
              .defaults("function"),
          param::integer("least", "Minimum length of a phase for learn").defaults("5").range(2, 1000).unit("samples"),
          param::string("train_from", "Start of the normal runs of predict and anomalies (default: all before --train-to)")
              .unit("TIME"),
          param::string("train_to", "End of the normal runs (default: the start of the range)").unit("TIME"),
          param::string("train_experiment", "Time range of the normal runs, as an experiment").unit("NAME"),
          param::boolean("save", "anomalies: writes a span for each anomaly into the store"),
          param::boolean("dry_run", "learn: writes nothing"),
          param::choice("format", "table|json", "Output format of show, train, predict and anomalies").defaults("table"),
          param::string("o", "show, learn: picture of the last run (.svg); export: output file").unit("FILE")),
      query::kStoreParams);
  static constexpr Description description = {.name = "phases"_str,
                                              .summary = "Learn, show and predict phases of programs; find anomalies"_str,
                                              .params = params,
                                              .operands = "learn|train|show|watch|predict|anomalies|export | import FILE"_str,
                                              .example =
                                                  "atalaya phases learn --from -1d --process Sort\n"
                                                  "atalaya phases anomalies --from -1h --process Sort\n"
                                                  "atalaya phases show --from -1h --process Sort -o sort.svg"_str};

  explicit PhasesCommand(Host host)
      : host_(host),
        options_(query::read_options(host)),
        profile_(host.text("profile") == "auto" ? "" : host.text("profile")),
        key_(host.text("key") == "stack" ? Key::stack : Key::function),
        least_(static_cast<size_t>(host.integer("least"))),
        train_from_(text_or_empty(host, "train_from")),
        train_to_(text_or_empty(host, "train_to")),
        train_experiment_(text_or_empty(host, "train_experiment")),
        save_(host.find("save") && host.boolean("save")),
        dry_run_(host.find("dry_run") && host.boolean("dry_run")),
        json_(host.text("format") == "json"),
        file_(text_or_empty(host, "o")),
        tags_(query::read_tags(host)) {
    for (const char *key : {"process", "host"})
      if (std::vector<std::string> patterns = host.texts(key); !patterns.empty()) tags_.push_back({key, std::move(patterns)});
    auto shuffle = core::Matcher::parse(kShufflePattern);
    groups_.push_back({"shuffle", std::move(*shuffle)});
  }

  int run(std::span<const atalaya_str> arguments) override {
    std::vector<std::string> words;
    for (const atalaya_str &word : arguments) words.emplace_back(view(word));
    return query::answered([&] { return dispatch(words); }, query::kAskForLessTime);
  }

  void interrupt() noexcept {
    is_interrupted_ = true;
    wake_.notify_all();
  }

 private:
  int dispatch(const std::vector<std::string> &words) {
    static const std::vector<std::string> verbs = {"learn", "train", "show", "watch", "predict", "anomalies", "export", "import"};
    if (words.empty()) throw Wrong("missing argument: learn, train, show, watch, predict, anomalies, export or import");
    const std::string &verb = words[0];
    if (std::find(verbs.begin(), verbs.end(), verb) == verbs.end())
      throw Wrong(core::in_quotes(verb) + " is not one of learn, train, show, watch, predict, anomalies, export, import" +
                  core::did_you_mean(verb, verbs));
    const size_t expected = verb == "import" ? 2 : 1;
    if (words.size() < expected) throw Wrong("import: missing FILE");
    if (words.size() > expected) throw Wrong("unexpected argument " + core::in_quotes(words[expected]));
    if (verb == "import") return import(words[1]);
    query::Reading reading(options_);
    PhaseDatabase database;
    const ReadDefinitions read = read_definitions(*reading.store, database);
    if (read.refused > 0) std::fprintf(stderr, "%zu phases of the store are left out: %s\n", read.refused, read.refusal.c_str());
    if (verb == "learn") return learn_all(reading, database);
    if (verb == "show") return show(reading, database);
    if (verb == "watch") return watch(reading, database);
    if (verb == "export") return export_all(reading, database);
    if (verb == "train") return train(reading, database);
    return verb == "predict" ? predict(reading, database) : anomalies(reading, database);
  }

  Wanted wanted(const store::Range &range) const { return {tags_, range, profile_}; }

  std::vector<LearnedRun> learned(query::Reading &reading, PhaseDatabase &database) {
    auto traces = read_traces(*reading.store, wanted(reading.range), key_, groups_, database.symbols(), reading.budget);
    std::erase_if(traces, [this](const ProcessTrace &one) { return one.trace.size() < 2 * least_; });
    return learn(std::move(traces), key_, {database.likeness(), least_}, database);
  }

  int learn_all(query::Reading &reading, PhaseDatabase &database) {
    std::set<std::pair<std::string, std::string>> known;
    for (const KnownPhase &phase : database.phases()) known.insert({phase.application, phase.id});
    const std::vector<LearnedRun> runs = learned(reading, database);
    if (runs.empty()) return nothing("stacks of a process with " + std::to_string(2 * least_) + " samples", reading.range);
    std::set<std::tuple<std::string, std::string, std::string>> recognised;
    for (const ProgramRun &run : read_runs(*reading.store, wanted(reading.range), database, reading.budget))
      recognised.insert({run.host, run.process, run.pid});
    std::vector<SpanToWrite> spans;
    size_t occurrences = 0;
    for (const LearnedRun &run : runs) {
      const bool is_recognised = recognised.contains({run.trace.host, run.trace.process, run.trace.pid});
      std::set<std::string> ids;
      for (const StoredOccurrence &one : run.occurrences) ids.insert(one.phase);
      for (const std::string &id : ids) {
        // The samples of a recognised run are in its phases already.
        if (is_recognised && known.contains({run.trace.process, id})) continue;
        if (const KnownPhase *const phase = database.find(run.trace.process, id))
          spans.push_back(definition_of(*phase, run.trace.host, database.symbols(), core::realtime()));
      }
      occurrences += run.occurrences.size();
      if (is_recognised) continue;
      for (const StoredOccurrence &one : run.occurrences) spans.push_back(phases::span_of(one));
    }
    if (!dry_run_) write_spans(host_, query::one_store(options_), spans);
    std::printf("%zu runs, %zu occurrences, %zu new phases\n", runs.size(), occurrences, database.phases().size() - known.size());
    std::fputs(phases_table(database, runs_of(runs), "").c_str(), stdout);
    if (!file_.empty()) query::write_output(file_, picture_of(runs.back(), database));
    return 0;
  }

  static std::vector<ProgramRun> runs_of(const std::vector<LearnedRun> &learned) {
    std::vector<ProgramRun> runs;
    for (const LearnedRun &one : learned) {
      runs.push_back({one.trace.host, one.trace.process, one.trace.pid, {}});
      for (const StoredOccurrence &occurrence : one.occurrences) runs.back().steps.push_back({occurrence.phase, occurrence.of, {}});
    }
    return runs;
  }

  int show(query::Reading &reading, PhaseDatabase &database) {
    const auto runs = read_runs(*reading.store, wanted(reading.range), database, reading.budget);
    if (!file_.empty()) {
      auto all = learned(reading, database);
      if (all.empty()) return nothing("stacks", reading.range);
      const auto last = std::max_element(all.begin(), all.end(), [](const LearnedRun &a, const LearnedRun &b) {
        return a.trace.trace.time_ns(0) < b.trace.trace.time_ns(0);
      });
      query::write_output(file_, picture_of(*last, database));
      return 0;
    }
    if (runs.empty()) return nothing("phases", reading.range);
    query::write_output({}, json_ ? phases_json(database, runs) : phases_table(database, runs, "") + "\n" + runs_table(runs));
    return 0;
  }

  int export_all(query::Reading &reading, PhaseDatabase &database) {
    if (database.phases().empty()) return nothing("phases", {});
    add_statistics(database, read_runs(*reading.store, {tags_, {}, profile_}, database, reading.budget));
    query::write_output(file_.empty() ? "-" : file_, database.exported());
    return 0;
  }

  int import(const std::string &path) {
    const auto text = core::read_file(path, kMaxImport);
    if (!text) throw Wrong(text.error());
    PhaseDatabase database;
    if (const core::Status status = database.import(text.value()); !status) throw Wrong(path + ": " + status.error());
    std::vector<SpanToWrite> spans;
    for (const KnownPhase &phase : database.phases())
      spans.push_back(definition_of(phase, "", database.symbols(), core::realtime()));
    write_spans(host_, query::one_store(options_), spans);
    std::fprintf(stderr, "imported %zu phases\n", spans.size());
    return 0;
  }

  // The range of the normal runs; it ends here, unless an option says otherwise.
  store::Range training_range(const query::Reading &reading, int64_t end_ns) const {
    store::Range range{std::numeric_limits<int64_t>::min(), end_ns};
    if (!train_experiment_.empty()) {
      query::ReadOptions options = options_;
      options.from = options.to = options.workload = "";
      options.experiment = train_experiment_;
      return query::Reading(options).range;
    }
    if (!train_from_.empty()) range.from_ns = query::time_of("--train-from", train_from_, *reading.store, reading.now_ns);
    if (!train_to_.empty()) range.to_ns = query::time_of("--train-to", train_to_, *reading.store, reading.now_ns);
    if (range.from_ns >= range.to_ns)
      throw Wrong("the range of normal runs ends before it begins; see --train-from and --train-to");
    return range;
  }

  static void read_all_functions(store::Store &store, ProgramRun &run, query::Budget &budget) {
    for (Step &step : run.steps) read_functions(store, run, step, budget);
  }

  // Runs with functions of their phases.
  std::map<std::string, std::vector<ProgramRun>> runs_by_program(store::Store &store, const Wanted &of,
                                                                 const PhaseDatabase &database, query::Budget &budget) {
    std::map<std::string, std::vector<ProgramRun>> programs;
    for (ProgramRun &run : read_runs(store, of, database, budget)) {
      read_all_functions(store, run, budget);
      programs[run.process].push_back(std::move(run));
    }
    return programs;
  }

  int train(query::Reading &reading, const PhaseDatabase &database) {
    const auto programs = runs_by_program(*reading.store, wanted(reading.range), database, reading.budget);
    if (programs.empty()) return nothing("phases", reading.range);
    query::JsonWriter json;
    json.list();
    for (const auto &[process, runs] : programs) {
      const Models models(runs);
      if (json_)
        write_models(json, process, runs.size(), models);
      else
        std::printf("%s: %zu runs\n%s\n", core::visible(process).c_str(), runs.size(), models_table(models, process).c_str());
    }
    print(json);
    return 0;
  }

  void print(query::JsonWriter &json) const {
    if (json_) query::write_output({}, json.end_list().take() + "\n");
  }

  // Calls visit(runs, number of normal runs, models) for each program that ran in the range.
  template <class Visit>
  bool for_each_program(query::Reading &reading, const PhaseDatabase &database, Visit &&visit) {
    const auto checked = runs_by_program(*reading.store, wanted(reading.range), database, reading.budget);
    if (checked.empty()) return false;
    const auto normal =
        runs_by_program(*reading.store, wanted(training_range(reading, reading.range.from_ns)), database, reading.budget);
    for (const auto &[process, runs] : checked) {
      const auto training = normal.find(process);
      const bool is_known = training != normal.end();
      visit(runs, is_known ? training->second.size() : 0, Models(is_known ? training->second : std::vector<ProgramRun>()));
    }
    return true;
  }

  int predict(query::Reading &reading, const PhaseDatabase &database) {
    query::JsonWriter json;
    json.list();
    const auto show = [&](const std::vector<ProgramRun> &runs, size_t normal, const Models &models) {
      const ProgramRun &last = runs.back();
      if (!json_)
        std::printf("%s, process %s of %s, from %zu normal runs\n%s\n", core::visible(last.process).c_str(), last.pid.c_str(),
                    time_of_run(last).c_str(), normal, predictions_table(last, models).c_str());
      else
        for (const ProgramRun &run : runs) write_predictions(json, run, normal, models);
    };
    if (!for_each_program(reading, database, show)) return nothing("phases", reading.range);
    print(json);
    return 0;
  }

  int anomalies(query::Reading &reading, PhaseDatabase &database) {
    std::vector<SpanToWrite> spans;
    query::JsonWriter json;
    json.list();
    const auto judge = [&](const std::vector<ProgramRun> &runs, size_t normal, const Models &models) {
      if (!json_) print_normal_runs(runs, normal);
      for (const ProgramRun &run : runs) {
        const Verdict verdict = anomalies_of(run, models);
        if (json_)
          write_verdict(json, run, normal, verdict, database);
        else
          std::fputs(verdict_text(run, verdict, database).c_str(), stdout);
        for (const Anomaly &one : verdict.anomalies) spans.push_back(span_of(run, one));
      }
    };
    if (!for_each_program(reading, database, judge)) return nothing("phases", reading.range);
    print(json);
    if (save_) write_spans(host_, query::one_store(options_), spans);
    return 0;
  }

  static void print_normal_runs(const std::vector<ProgramRun> &runs, size_t normal) {
    std::printf("%s: %zu runs against %zu normal runs\n", core::visible(runs.front().process).c_str(), runs.size(), normal);
    if (normal < kLeastRuns) std::printf("  too few normal runs for a verdict: %zu are needed; see --train-from\n", kLeastRuns);
  }

  static SpanToWrite span_of(const ProgramRun &run, const Anomaly &one) {
    return {one.step->of.start_ns,
            one.step->of.end_ns - one.step->of.start_ns,
            std::string(kAnomalySpan),
            {{"host", run.host},
             {"pid", run.pid},
             {"process", run.process},
             {"phase", one.step->phase},
             {"metric", std::string(kTargetNames[static_cast<size_t>(one.target)])},
             {"text", one.text}},
            0,
            {{"anomaly.seen", one.seen}, {"anomaly.predicted", one.predicted}, {"anomaly.ratio", std::exp(one.distance)}}};
  }

  // Prints phases as they begin and end, and those that are not normal, until it is interrupted.
  int watch(query::Reading &reading, const PhaseDatabase &database) {
    constexpr auto kEvery = std::chrono::seconds(1);
    constexpr int64_t kHour = 3'600'000'000'000;
    const store::Range normal = training_range(reading, reading.now_ns);
    const auto normal_runs = [&](const std::string &process) {
      query::Budget budget(options_.limits);
      Wanted of = wanted(normal);
      of.tags.push_back({"process", {query::exactly(process)}});
      try {
        return runs_by_program(*reading.store, of, database, budget)[process];
      } catch (const query::TooMuch &error) {
        std::fprintf(stderr, "phases of %s are not compared, --train-from selects fewer runs: %s\n", core::visible(process).c_str(),
                     error.what());
      }
      return std::vector<ProgramRun>();
    };
    const auto functions = [&](ProgramRun &run) {
      query::Budget budget(options_.limits);
      read_all_functions(*reading.store, run, budget);
    };
    Watcher watcher(database, normal_runs, functions);
    std::fprintf(stderr, "known phases: %zu; a program is learned at the end of its first run\n", database.phases().size());
    std::mutex mutex;
    std::unique_lock lock(mutex);
    for (; !is_interrupted_; wake_.wait_for(lock, kEvery, [&] { return is_interrupted_.load(); })) {
      query::Budget budget(options_.limits);
      const int64_t now = core::realtime();
      const store::Range range{now - kHour, std::numeric_limits<int64_t>::max()};
      std::fputs(watcher.news(read_runs(*reading.store, wanted(range), database, budget), now).c_str(), stdout);
      std::fflush(stdout);
    }
    return 0;
  }

  static int nothing(const std::string &what, const store::Range &range) {
    const bool is_all = range.from_ns == std::numeric_limits<int64_t>::min();
    std::fprintf(stderr, "no %s%s; pipelines/phases.lua collects them\n", what.c_str(),
                 is_all ? "" : (" from " + query::span_text(range)).c_str());
    return 1;
  }

  Host host_;
  const query::ReadOptions options_;
  const std::string profile_;
  const Key key_;
  const size_t least_;
  const std::string train_from_, train_to_, train_experiment_;
  const bool save_, dry_run_, json_;
  const std::string file_;
  std::vector<store::TagFilter> tags_;
  std::vector<Group> groups_;
  std::atomic<bool> is_interrupted_ = false;
  std::condition_variable wake_;
};

}  // namespace
}  // namespace atalaya::phases

ATALAYA_PLUGIN("phases", "0.1.0", "command phases", atalaya::phases::PhasesCommand)
