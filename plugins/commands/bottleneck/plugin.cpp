// SPDX-License-Identifier: Apache-2.0
// Command bottleneck: slow tasks, phases and nodes of a job, and the reasons.
#include <atalaya/plugin.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plugins/commands/bottleneck/output.h"
#include "plugins/commands/bottleneck/path.h"
#include "plugins/shared/analysis/command_line/options.h"
#include "plugins/shared/analysis/command_line/output.h"
#include "plugins/shared/analysis/jobs/read/read_jobs.h"

namespace atalaya::bottleneck {
namespace {

using namespace atalaya::literals;

constexpr const char *kAskForLess =
    "; narrow the query with one --job, --tag or a shorter time range, or raise --max-points and --timeout";

// The format that the suffix of the file selects, else `format`.
std::string format_of(const std::string &file, const std::string &format) {
  std::string suffix = command_line::suffix_of(file);
  if (suffix == "htm") suffix = "html";
  if (suffix == "html" || suffix == "json") {
    if (format != "table" && format != suffix)  // the format was given explicitly
      throw Failure(Code::bad_config, "-o " + file + " selects " + suffix + ", but --format is " + format + "; omit one of them");
    return suffix;
  }
  if (file.empty() || file == "-" || suffix == "txt") return format;
  throw Failure(Code::bad_config, "-o " + file + ": unknown suffix; use .html, .json or .txt");
}

class BottleneckCommand final : public Command {
 public:
  static constexpr auto params = command_line::joined(
      command_line::listed(
          param::string("job", "Job to analyse at any time; all: every job in the range").required().unit("ID|all"),
          param::string("compare", "Later job that did the same work after a change; compares the speeds").unit("ID"),
          param::choice("clustering", "pam|kmeans", "Method that groups speeds into five grades; pam is robust to outliers")
              .defaults("pam"),
          param::boolean("critical_path", "The chain of tasks that the job waited for, and its predicted length after changes"),
          param::integer("least", "Minimum slowdown of a reported node").defaults("20").range(1, 99).unit("%"), command_line::kTag),
      command_line::kWindowParams, command_line::kStoreParams,
      command_line::listed(
          param::string("o", "Output file; its suffix selects the format (default: standard output)").unit("FILE.html|FILE.json"),
          param::choice("format", "table|json|html", "Output format; html is one self-contained page with charts")
              .defaults("table")));
  static constexpr Description description = {.name = "bottleneck"_str,
                                              .summary = "Find slow tasks, phases and nodes of a job, with the evidence"_str,
                                              .params = params,
                                              .example =
                                                  "atalaya bottleneck --job job_1526555215992_0001\n"
                                                  "atalaya bottleneck --job job_1526555215992_0001 --critical-path\n"
                                                  "atalaya bottleneck --job all --from -1d --format json"_str};

  explicit BottleneckCommand(Host host)
      : read_(command_line::read_options(host)), job_(host.text("job")), tags_(command_line::read_tags(host)) {
    if (const auto other = host.find("compare")) compare_ = other->text();
    if (job_.empty()) throw Failure(Code::bad_config, "--job: empty; name a job, or all");
    if (!compare_.empty() && job_ == "all") throw Failure(Code::bad_config, "--compare: needs --job with a single job");
    const auto path = host.find("critical_path");
    critical_path_ = path && path->boolean();
    if (critical_path_ && (job_ == "all" || !compare_.empty()))
      throw Failure(Code::bad_config, "--critical-path: needs --job with a single job, without --compare");
    if (compare_ == job_ && !compare_.empty())
      throw Failure(Code::bad_config, "--compare: the same job as --job; name another one");
    options_.clustering = host.text("clustering") == "kmeans" ? jobs::Clustering::kmeans : jobs::Clustering::pam;
    options_.minimum = static_cast<double>(host.integer("least")) / 100;
    if (const auto file = host.find("o")) file_ = file->text();
    format_ = format_of(file_, host.text("format"));
    if (critical_path_ && format_ == "html") throw Failure(Code::bad_config, "--critical-path: use --format table or json");
    // The default range of one job is all time.
    any_time_ = job_ != "all" && read_.experiment.empty() && read_.from.empty() && read_.to.empty();
  }

  int run(std::span<const atalaya_str>) override {
    return command_line::with_failures(
        [&] {
          command_line::Reading reading(read_);
          if (any_time_) reading.range = {0, reading.now_ns};
          jobs::JobData data = jobs::read_jobs(ids(), tags_, reading.range, *reading.store, reading.budget);
          if (data.tasks.empty() && data.regions.empty()) report_no_points(reading);
          if (critical_path_) return write_path(data, reading);
          const jobs::Analysis analysis = analyse(std::move(data), options_, *reading.store, reading.budget);
          Report report{analysis, change_of(analysis.data), reading.store->name(),
                        any_time_ ? "At any time" : command_line::span_text(reading.range),
                        options_.clustering == jobs::Clustering::pam ? "pam" : "kmeans"};
          command_line::write_output(file_, format_ == "json"   ? as_json(report)
                                            : format_ == "html" ? as_page(report)
                                                                : as_table(report));
          return 0;
        },
        kAskForLess);
  }

 private:
  int write_path(const jobs::JobData &data, command_line::Reading &reading) const {
    const PathReport report = path_report(data, 0, *reading.store, reading.budget);
    command_line::write_output(file_, format_ == "json" ? as_json(report) : as_table(report));
    return 0;
  }

  std::vector<std::string> ids() const {
    std::vector<std::string> ids;
    if (job_ != "all") ids.push_back(job_);
    if (!compare_.empty()) ids.push_back(compare_);
    return ids;
  }

  // A hint with the time range of the stored jobs.
  void report_no_points(command_line::Reading &reading) const {
    command_line::report_no_points("tasks of jobs", reading.range);
    if (any_time_) return;
    query::Range jobs{reading.now_ns, 0};
    query::Budget part = reading.budget.half();
    try {
      reading.store->spans({{"job", "task"}, tags_, {0, reading.now_ns}}, [&](const store::Span &span) {
        part.work(1);
        if (store::tag_of(span.tags, "job").empty()) return;
        const std::optional<int64_t> end = span.duration_ns < 0 ? std::max(reading.now_ns, span.start_ns) : jobs::end_of(span);
        if (!end) return;
        jobs.from_ns = std::min(jobs.from_ns, span.start_ns);
        jobs.to_ns = std::max(jobs.to_ns, *end);
      });
    } catch (const query::TooMuch &) {
      return;  // the hint is optional
    }
    if (jobs.to_ns > 0) std::fprintf(stderr, "the jobs in the store ran from %s\n", command_line::span_text(jobs).c_str());
  }

  std::optional<Change> change_of(const jobs::JobData &data) const {
    if (compare_.empty()) return std::nullopt;
    Change change;
    for (uint32_t i = 0; i < data.jobs.size(); ++i) {
      if (data.name(data.jobs[i].id) == job_) change.before = i;
      if (data.name(data.jobs[i].id) == compare_) change.after = i;
    }
    return change;
  }

  const command_line::ReadOptions read_;
  const std::string job_;
  const std::vector<store::TagFilter> tags_;
  std::string compare_, file_, format_;
  jobs::DetectOptions options_;
  bool any_time_ = false, critical_path_ = false;
};

}  // namespace
}  // namespace atalaya::bottleneck

ATALAYA_PLUGIN("bottleneck", "0.1.0", "command bottleneck", atalaya::bottleneck::BottleneckCommand)
