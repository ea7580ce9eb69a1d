// SPDX-License-Identifier: Apache-2.0
// Command flamegraph: time by call stack, as an interactive image or for other tools.
#include <atalaya/plugin.hpp>

#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "plugins/commands/flamegraph/files.h"
#include "plugins/commands/flamegraph/phases.h"
#include "plugins/shared/analysis/command_line/options.h"
#include "plugins/shared/analysis/command_line/output.h"
#include "plugins/shared/analysis/experiments/ranges.h"
#include "plugins/shared/analysis/flamegraph/class.h"
#include "plugins/shared/analysis/flamegraph/differences.h"
#include "plugins/shared/analysis/flamegraph/files/folded.h"
#include "plugins/shared/analysis/flamegraph/files/pprof.h"
#include "plugins/shared/analysis/flamegraph/files/speedscope.h"
#include "plugins/shared/analysis/flamegraph/functions.h"
#include "plugins/shared/analysis/flamegraph/group_table.h"
#include "plugins/shared/analysis/flamegraph/peers.h"
#include "plugins/shared/analysis/flamegraph/picture/picture.h"
#include "plugins/shared/analysis/flamegraph/stored.h"
#include "plugins/shared/analysis/jobs/read/stage_stacks.h"
#include "plugins/shared/store/query/pieces.h"

namespace atalaya::flamegraph {
namespace {

using namespace atalaya::literals;

constexpr const char *kNeedsTasks =
    "; the source perf tags stacks with tasks = true (docs/how-to/tasks.md), at the end of each window";

bool flag_of(Host host, std::string_view name) {
  const auto value = host.find(name);
  return value && value->boolean();
}

class FlamegraphCommand final : public Command {
 public:
  static constexpr auto params = command_line::joined(
      command_line::kWindowParams,
      command_line::listed(
          param::list("host", command_line::kText, "Only stacks of this host, or pattern (default: all hosts)").unit("HOST"),
          param::list("process", command_line::kText, "Only stacks of processes with this name, or pattern").unit("NAME"),
          command_line::kTag,
          param::choice(
              "profile", "cpu|offcpu|wall|waker",
              "cpu: samples on CPUs (source perf); offcpu: waiting time of threads; wall: thread dumps of JVMs (source jvm); "
              "waker: waiting time during bursts, by what ended it (source perf with wakers)")
              .defaults("cpu"),
          param::choice("keep", "all|jvm|app|kernel",
                        "Only stacks of JVMs, with application code, or with kernel code; percentages refer to the kept stacks")
              .defaults("all"),
          param::choice("by", "process|name|host|reason|owner",
                        "Root frames: one per process, per process name, per host, per reason of waits, or per owner of waits: "
                        "thread, peer, disk")
              .defaults("process"),
          param::string("task", "Only stacks of this attempt or task (source perf with tasks = true)").unit("ID"),
          param::string("stage", "Only stacks of tasks of this stage").unit("STAGE"),
          param::boolean("slow_against_median",
                         "Compare the slow tasks of --stage with the middle half of its tasks, as --diff does"),
          param::string("job", "Job of --stage, if several jobs in the range have one of this name").unit("ID"),
          param::string("phase", "Only stacks of processes while they are in this phase, or pattern (atalaya phases show)")
              .unit("NAME"),
          param::string("folded", "Read folded stacks (\"a;b;c 12\" per line) from a file or standard input, not from the store")
              .unit("FILE|-"),
          param::string("diff",
                        "Compare with this time range or experiment, or with this file if --folded is used; "
                        "red frames have a larger share than before, blue frames a smaller one")
              .unit("FROM..TO|NAME|FILE"),
          param::string("o", "Output file (default: standard output)").unit("FILE"),
          param::choice("format", "svg|table|folded|json|pprof|speedscope",
                        "Output format: image, table of functions (with --by reason or owner: of the root frames), folded stacks, "
                        "JSON for d3-flame-graph, or a profile for pprof or "
                        "speedscope (default: by the suffix of -o, else svg)"),
          param::integer("top", "Maximum functions of the table").defaults("30").range(1, 1e6),
          param::boolean("icicle", "Draw the root at the top"), param::string("title", "Title of the image"),
          param::integer("width", "Width of the image").defaults("1200").range(300, 10000).unit("pixels"),
          param::integer("frames", "Maximum frames in the image, the widest ones").defaults("30000").range(100, 1e6)),
      command_line::kStoreParams);
  static constexpr Description description = {.name = "flamegraph"_str,
                                              .summary = "Show time by call stack: flame graph, folded stacks or pprof"_str,
                                              .params = params,
                                              .example =
                                                  "atalaya flamegraph --from -10m --process java -o java.svg\n"
                                                  "atalaya flamegraph --from -10m --format table --top 10\n"
                                                  "atalaya flamegraph --from -10m --diff -2h..-1h -o change.svg"_str};

  explicit FlamegraphCommand(Host host)
      : options_(command_line::read_options(host)),
        folded_(command_line::text_of(host, "folded")),
        diff_(command_line::text_of(host, "diff")),
        file_(command_line::text_of(host, "o")),
        format_(command_line::text_of(host, "format")),
        top_(static_cast<size_t>(host.integer("top"))),
        keep_(host.text("keep")),
        task_(command_line::text_of(host, "task")),
        stage_(command_line::text_of(host, "stage")),
        job_(command_line::text_of(host, "job")),
        phase_(command_line::text_of(host, "phase")),
        against_median_(flag_of(host, "slow_against_median")) {
    style_.title = command_line::text_of(host, "title");
    style_.icicle = flag_of(host, "icicle");
    style_.compared = !diff_.empty() || against_median_;
    style_.width = static_cast<int>(host.integer("width"));
    style_.frames = static_cast<size_t>(host.integer("frames"));
    read_wanted(host);
    check_tasks();
    set_format();
    if (style_.compared && (is_profile() || format_ == "table"))
      throw Failure(Code::bad_config, "--format " + format_ + " has one side only; omit " +
                                          (against_median_ ? "--slow-against-median" : "--diff") +
                                          ", and compare the files in the viewer");
  }

  int run(std::span<const atalaya_str>) override {
    return command_line::with_failures(
        [&] {
          Tree tree;
          if (!folded_.empty())
            read_files(tree);
          else if (against_median_)
            read_stage(tree);
          else
            read_store(tree);
          if (differs_not_) return 0;
          const Classes classes(tree, wanted_.group_depth());
          finish(tree, classes);
          if (tree.root().shown() == 0 || (against_median_ && !nothing_.empty())) return report_nothing();
          report_incomplete(tree, classes);
          if (against_median_) report_differences(tree);
          command_line::write_output(file_, output_of(tree, classes));
          return 0;
        },
        command_line::kAskForLessTime);
  }

 private:
  void read_wanted(Host host) {
    wanted_.tags = command_line::read_tags(host);
    for (const char *key : {"host", "process"})
      if (std::vector<std::string> patterns = host.texts(key); !patterns.empty())
        wanted_.tags.push_back({key, std::move(patterns)});
    wanted_.profile = host.text("profile");
    wanted_.by = parse_by(host.text("by"));
    if (!stage_.empty() && !against_median_) wanted_.tags.push_back({"stage", {query::exact_pattern(stage_)}});
    if (!job_.empty() && !against_median_) wanted_.tags.push_back({"job", {query::exact_pattern(job_)}});
    if (wanted_.counts_time()) style_.unit = Unit::nanoseconds;
    if (folded_.empty()) return;
    if (!wanted_.tags.empty() || wanted_.by != By::process ||
        !(options_.from + options_.to + options_.experiment + task_ + stage_ + job_ + phase_).empty())
      throw Failure(Code::bad_config,
                    "--folded uses all stacks of the file; omit times, hosts, processes, tasks, phases, --tag and --by");
  }

  // Groups processes by name: the same code in executors with different pids becomes one frame.
  void check_tasks() {
    if (!against_median_) return;
    if (stage_.empty()) throw Failure(Code::bad_config, "--slow-against-median: needs --stage");
    if (!diff_.empty() || !task_.empty() || !phase_.empty())
      throw Failure(Code::bad_config, "--slow-against-median: omit --diff, --task and --phase");
    if (wanted_.by == By::process) wanted_.by = By::name;
  }

  void set_format() {
    if (!format_.empty()) return;
    const std::string suffix = command_line::suffix_of(file_);
    format_ = suffix == "json" || suffix == "folded" ? suffix : "svg";
    if (file_.ends_with(".pb.gz")) format_ = "pprof";
    if (format_ == "svg" && !suffix.empty() && suffix != "svg")
      throw Failure(Code::bad_config, "-o " + file_ + ": unknown suffix; use .svg, .folded, .json or .pb.gz, or set --format");
  }

  void read_store(Tree &tree) {
    command_line::Reading reading(options_);
    style_.subtitle = command_line::span_text(reading.range);
    range_ = reading.range;
    if (wanted_.by == By::owner) wanted_.owner_name = read_owner_names(*reading.store, reading.range, reading.budget);
    if (task_.empty())
      add_range(tree, Side::shown, reading, reading.range);
    else
      add_task(tree, task_, *reading.store, wanted_, reading.range, reading.budget);
    if (tree.size() == 1 && !task_.empty())
      nothing_ = "of task " + task_ + " from " + style_.subtitle + kNeedsTasks;
    else if (tree.size() == 1 && phase_.empty())
      nothing_ = "from " + style_.subtitle + reason_for_no_stacks(*reading.store, wanted_, reading.range, reading.budget);
    if (diff_.empty()) return;
    const query::Range before = experiments::range_of("--diff", diff_, *reading.store, reading.now_ns);
    style_.subtitle += ", compared with " + command_line::span_text(before);
    add_range(tree, Side::before, reading, before);
  }

  void add_range(Tree &tree, Side side, command_line::Reading &reading, const store::Range &range) {
    if (phase_.empty()) return add_stored(tree, side, *reading.store, wanted_, range, reading.budget);
    const PhaseTimes times(phase_, *reading.store, range, reading.budget);
    Wanted in_phase = wanted_;
    in_phase.only = [&](const store::Stack &stack) { return times.contains(stack); };
    add_stored(tree, side, *reading.store, in_phase, range, reading.budget);
    if (side == Side::shown && tree.size() == 1)
      nothing_ = "of phase " + phase_ + " from " + style_.subtitle +
                 (times.phases() == 0 ? "; \"atalaya phases show\" lists the phases" : " with these names and tags");
  }

  void read_stage(Tree &tree) {
    command_line::Reading reading(options_);
    range_ = reading.range;
    const jobs::ComparedTasks tasks = jobs::stage_tasks(stage_, job_, *reading.store, reading.range, reading.budget);
    style_.subtitle = jobs::text_of(tasks, stage_);
    std::fprintf(stderr, "%s\n", style_.subtitle.c_str());
    differs_not_ = tasks.slow.empty();
    if (differs_not_) return;
    parts_ = jobs::add_stage(tree, tasks, *reading.store, wanted_, reading.budget);
    if (parts_[0] == 0 || parts_[1] == 0)
      nothing_ = std::string("of the ") + (parts_[0] == 0 ? "slow" : "other") + " tasks of stage " + stage_ + kNeedsTasks;
  }

  void report_differences(const Tree &tree) const {
    const auto found = differences(tree, wanted_.group_depth(), parts_, !wanted_.counts_time());
    std::fputs(flamegraph::text_of(found, style_.unit).c_str(), stderr);
  }

  void read_files(Tree &tree) {
    style_.subtitle = folded_ == "-" ? "" : folded_;
    add_folded_file(tree, Side::shown, folded_);
    if (!style_.compared) return;
    style_.subtitle += ", compared with " + diff_;
    add_folded_file(tree, Side::before, diff_);
  }

  void finish(Tree &tree, const Classes &classes) {
    if (tree.cut() > 0)
      std::fprintf(stderr, "%zu stacks are shown with their first frames only: too deep, or too many different ones\n", tree.cut());
    if (keep_ != "all") filter_class(tree, classes, keep_);
    tree.finish();
    if (!diff_.empty() && tree.root().before() == 0) std::fputs("nothing to compare with: no stacks before\n", stderr);
  }

  // An empty image is not written, because it might replace a good one.
  int report_nothing() const {
    std::string text = nothing_;
    if (text.empty()) text = folded_.empty() ? "from " + style_.subtitle : "in " + (folded_ == "-" ? "standard input" : folded_);
    if (nothing_.empty() && keep_ != "all") text += "; --keep " + keep_ + " matches none";
    if (!file_.empty() && file_ != "-") text += "; " + file_ + " is not written";
    std::fprintf(stderr, "no stacks %s\n", text.c_str());
    return 1;
  }

  void report_incomplete(const Tree &tree, const Classes &classes) const {
    constexpr double kWorthTelling = 0.05;
    const EarlyEnds early = early_ends(tree, classes, wanted_.group_depth());
    if (early.all <= kWorthTelling * tree.root().shown()) return;
    std::string text;
    if (early.jvms > 0) text += ": JVMs need -XX:+PreserveFramePointer, or use --profile wall (source jvm)";
    if (early.jvms < early.all)
      text += std::string(text.empty() ? ":" : ";") +
              " programs without frame pointers need unwind = \"auto\" of the source perf, with BPF";
    std::fprintf(stderr, "%.0f %% of the samples have incomplete stacks%s\n", 100 * early.all / tree.root().shown(), text.c_str());
  }

  bool is_profile() const { return format_ == "pprof" || format_ == "speedscope"; }

  std::string output_of(const Tree &tree, const Classes &classes) {
    if (format_ == "folded") return folded_of(tree, style_.compared);
    const bool is_grouped = wanted_.by == By::reason || wanted_.by == By::owner;
    if (format_ == "table" && is_grouped) return table_of(tree, wanted_.group_depth(), style_.unit);
    if (format_ == "table") return function_table(tree, wanted_.group_depth(), style_, top_);
    if (format_ == "json") return json_of(tree, style_.compared);
    const ProfileInfo info{wanted_.profile, style_.unit, wanted_.group_depth(), range_.from_ns, range_.to_ns};
    if (format_ == "pprof") return pprof_of(tree, info);
    if (format_ == "speedscope") return speedscope_of(tree, info);
    if (style_.title.empty()) style_.title = title();
    style_.subtitle = value_text(tree.root().shown(), style_.unit) + (style_.subtitle.empty() ? "" : ", " + style_.subtitle);
    return svg_of(tree, classes, style_);
  }

  std::string title() const {
    std::string text =
        wanted_.profile == "offcpu" || wanted_.profile == "waker" ? "Waiting time by call stack" : "Time by call stack";
    for (const store::TagFilter &filter : wanted_.tags) {
      text += ", " + filter.key;
      for (const std::string &pattern : filter.patterns) text += " " + pattern;
    }
    if (!task_.empty()) text += ", task " + task_;
    if (!phase_.empty()) text += ", phase " + phase_;
    if (against_median_) text += ", slow tasks of stage " + stage_ + " against its median ones";
    return options_.experiment.empty() ? text : options_.experiment + ": " + text;
  }

  const command_line::ReadOptions options_;
  const std::string folded_, diff_, file_;
  store::Range range_{0, 0};  // range of the stored stacks
  std::string nothing_;       // the reason for an empty result
  std::string format_;
  const size_t top_;
  const std::string keep_;
  const std::string task_, stage_, job_, phase_;
  const bool against_median_;
  bool differs_not_ = false;  // true: no task of the stage is slow, so there is no difference
  Values parts_{};            // number of tasks of each side
  Wanted wanted_;
  Style style_;
};

}  // namespace
}  // namespace atalaya::flamegraph

ATALAYA_PLUGIN("flamegraph", "0.1.0", "command flamegraph", atalaya::flamegraph::FlamegraphCommand)
