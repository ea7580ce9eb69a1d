// SPDX-License-Identifier: Apache-2.0
// Command report: the resources that processes, hosts and experiments used.
#include <atalaya/plugin.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "core/base/text/text.h"
#include "plugins/commands/report/bill.h"
#include "plugins/commands/report/comparison.h"
#include "plugins/commands/report/page.h"
#include "plugins/commands/report/parts.h"
#include "plugins/commands/report/pictures.h"
#include "plugins/commands/report/sections.h"
#include "plugins/shared/analysis/command_line/options.h"
#include "plugins/shared/analysis/command_line/output.h"
#include "plugins/shared/analysis/experiments/experiments.h"
#include "plugins/shared/store/query/engine.h"

namespace atalaya::report_command {
namespace {

using namespace atalaya::literals;
using query::Range;
using query::Usage;

const std::vector<std::string> kUsual = {"proc.cpu.user", "proc.cpu.kernel", "proc.mem.resident", "proc.disk.reads.mb",
                                         "proc.disk.writes.mb"};
constexpr size_t kMaxLines = 10;  // maximum lines of a chart; tables have more rows

// The format that the suffix of the file selects, else `format`.
std::string format_of(const std::string &file, const std::string &format) {
  std::string suffix = command_line::suffix_of(file);
  if (suffix == "htm") suffix = "html";
  if (suffix == "html" || suffix == "csv" || suffix == "json") {
    if (format != "table" && format != suffix)  // the format was given explicitly
      throw Failure(Code::bad_config, "-o " + file + " selects " + suffix + ", but --format is " + format + "; omit one of them");
    return suffix;
  }
  if (file.empty() || file == "-" || suffix == "txt") return format;
  throw Failure(Code::bad_config, "-o " + file + ": unknown suffix; use .html, .csv, .json or .txt");
}

class Report final : public Command {
 public:
  static constexpr auto params = command_line::joined(
      command_line::listed(
          param::choice("by", "process|pid|host|experiment|all|job|application|executor|stage|user|container|unit|cgroup",
                        "Entity of a row; experiment: each experiment and workload in the range. By job, user, container, "
                        "unit or cgroup, without --metric: the bill of the machines")
              .defaults("process"),
          command_line::metric_param(0), command_line::kTag),
      command_line::kWindowParams,
      command_line::listed(param::integer("top", "Maximum rows per metric, by use").defaults("20").range(1, 1e6)),
      command_line::kStoreParams,
      command_line::listed(
          param::string("compare", "Two experiments A and B: the use of each, the difference B - A, and its per cent of A")
              .unit("A B"),
          param::string("o", "Output file; its suffix selects the format (default: standard output)")
              .unit("FILE.html|FILE.csv|FILE.json"),
          param::choice("format", "table|csv|json|html", "Output format; html is one self-contained page with charts")
              .defaults("table")));
  static constexpr Description description = {.name = "report"_str,
                                              .summary = "Report resource use: core-seconds, MiB-hours, averages, extremes"_str,
                                              .params = params,
                                              .operands = "[B]"_str,
                                              .example =
                                                  "atalaya report --by job --from today\n"
                                                  "atalaya report --experiment sort -o sort.html\n"
                                                  "atalaya report --compare sort sort-tuned"_str};

  explicit Report(Host host)
      : options_(command_line::read_options(host)),
        metrics_(host.texts("metric")),
        tags_(command_line::read_tags(host)),
        by_(host.text("by")),
        top_(static_cast<size_t>(host.integer("top"))) {
    if (const auto file = host.find("o")) file_ = file->text();
    format_ = format_of(file_, host.text("format"));
    if (const auto compare = host.find("compare")) set_compared(std::string(compare->text()));
    usual_ = metrics_.empty();
    is_bill_ = usual_ && is_tag(by_) && !compares_;
    if (usual_) metrics_ = kUsual;
  }

  int run(std::span<const atalaya_str> arguments) override {
    return command_line::with_failures([&] {
      if (compares_ && arguments.size() != 1) throw query::Wrong("--compare: needs two experiments, as in --compare A B");
      if (!compares_ && !arguments.empty())
        throw query::Wrong("unexpected argument " + core::in_quotes(view(arguments[0])) + "; see atalaya report --help");
      command_line::Reading reading(options_);
      if (compares_) {
        command_line::write_output(file_, text_of(comparison_with(std::string(view(arguments[0])), reading), reading));
        return 0;
      }
      if (is_bill_) {
        const Bill bill = bill_of(by_, tags_, reading.range, *reading.store, reading.budget, top_);
        for (const std::string &metric : bill.undeclared)
          std::fprintf(stderr, "left out: %s, because the store does not know its unit\n", metric.c_str());
        command_line::write_output(file_, text_of(bill, reading));
        return 0;
      }
      Usages usages{columns(), parts_of(reading)};
      for (Part &part : usages.parts) add_usages(part, reading);
      command_line::write_output(file_, text_of(std::move(usages), reading));
      return 0;
    });
  }

 private:
  std::string text_of(Usages usages, command_line::Reading &reading) const {
    if (format_ == "json") return as_json(usages);
    if (format_ == "csv") return as_csv(usages);
    if (format_ == "table") return as_table(usages);
    Page page{title(), reading.store->name(), reading.range, reading.now_ns, {}, {}, std::move(usages), {}};
    for (experiments::Experiment &one : experiments::experiments(*reading.store, options_.experiment))
      if (meets(one, reading)) page.experiments.push_back(std::move(one));
    const PictureOptions pictures{tags_, keys(), std::min(top_, kMaxLines), page.experiments, options_.experiment};
    for (const std::string &metric : metrics_) of_metric([&] { add_pictures(metric, pictures, reading, page.pictures); });
    if (!options_.experiment.empty()) add_sections(page.sections, tags_, reading);
    return as_page(page);
  }

  // The first experiment is the range of the reading.
  void set_compared(const std::string &first) {
    compares_ = true;
    if (!(options_.experiment + options_.from + options_.to).empty())
      throw Failure(Code::bad_config, "--compare sets the time ranges; omit --experiment, --from and --to");
    if (by_ == "experiment") throw Failure(Code::bad_config, "--compare: --by experiment has no rows in common; use another --by");
    options_.experiment = first;
  }

  Comparison comparison_with(const std::string &second, command_line::Reading &reading) const {
    const experiments::Experiment other = experiments::find_experiment(*reading.store, second, "");
    Side sides[] = {{options_.experiment, reading.range, {}}, {other.name, {other.start_ns, other.end_ns(reading.now_ns)}, {}}};
    for (Side &side : sides)
      for (const std::string &metric : metrics_)
        of_metric([&] {
          for (Usage &usage : query::usage_of({metric}, tags_, keys(), side.range, *reading.store, reading.budget))
            side.usages.push_back(std::move(usage));
        });
    return compared(std::move(sides[0]), std::move(sides[1]), keys(), top_);
  }

  std::string text_of(const Comparison &comparison, const command_line::Reading &reading) const {
    if (format_ == "json") return as_json(comparison);
    if (format_ == "csv") return as_csv(comparison);
    return format_ == "table" ? as_table(comparison) : as_page(comparison, reading.store->name(), reading.now_ns);
  }

  std::string text_of(const Bill &bill, const command_line::Reading &reading) const {
    if (format_ == "json") return as_json(bill);
    if (format_ == "csv") return as_csv(bill);
    return format_ == "table" ? as_table(bill) : as_page(bill, reading.range, reading.store->name(), reading.now_ns);
  }

  // Whether the value of --by is a tag of processes.
  static bool is_tag(std::string_view by) {
    static constexpr std::array<std::string_view, 8> kTags = {"job",  "application", "executor", "stage",
                                                              "user", "container",   "unit",     "cgroup"};
    return std::find(kTags.begin(), kTags.end(), by) != kTags.end();
  }

  std::string title() const {
    if (options_.experiment.empty()) return "Usage by " + (by_ == "all" ? "metric" : by_);
    return options_.experiment + (options_.workload.empty() ? "" : ", " + options_.workload);
  }

  static bool meets(const experiments::Experiment &one, const command_line::Reading &reading) {
    const int64_t end = one.end_ns(reading.now_ns);
    return end > reading.range.from_ns && one.start_ns < reading.range.to_ns && end > one.start_ns;
  }

  std::vector<Part> parts_of(command_line::Reading &reading) const {
    if (by_ != "experiment") return {{{}, reading.range, {}, {}}};
    std::vector<Part> parts;
    for (const experiments::Experiment &one : experiments::experiments(*reading.store, options_.experiment)) {
      if (!meets(one, reading)) continue;
      query::Tags tags = {{"experiment", one.name}};
      if (!one.workload.empty()) tags["workload"] = one.workload;
      parts.push_back({tags, {one.start_ns, one.end_ns(reading.now_ns)}, {}, {}});
    }
    if (parts.empty()) command_line::report_no_points("experiments", reading.range);
    return parts;
  }

  std::vector<std::string> keys() const {
    if (by_ == "process") return {"host", "process"};
    if (by_ == "pid") return {"host", "process", "pid"};
    if (by_ == "host") return {"host"};
    if (is_tag(by_)) return {by_};
    return {};
  }
  std::vector<std::string> columns() const {
    return by_ == "experiment" ? std::vector<std::string>{"experiment", "workload"} : keys();
  }

  // The default metrics, as far as the store has them.
  template <class Body>
  void of_metric(Body &&body) const {
    try {
      body();
    } catch (const query::UnknownMetric &) {
      if (!usual_) throw;
    }
  }

  void add_usages(Part &part, command_line::Reading &reading) const {
    const auto read = [&](const std::string &metric, const std::vector<std::string> &own) {
      return query::usage_of({metric}, tags_, own, part.range, *reading.store, reading.budget);
    };
    for (const std::string &metric : metrics_)
      of_metric([&] {
        if (!keys().empty())
          for (Usage &usage : read(metric, {})) part.totals[usage.metric].whole = std::move(usage);
        size_t row = 0;
        for (Usage &usage : read(metric, keys())) {
          row = part.usages.empty() || part.usages.back().metric != usage.metric ? 0 : row + 1;
          if (row < top_) {
            part.usages.push_back(std::move(usage));
          } else if (const auto total = part.totals.find(usage.metric); total != part.totals.end()) {
            total->second.other += usage.sum;
            ++total->second.others;
          }
        }
      });
  }

  command_line::ReadOptions options_;
  std::vector<std::string> metrics_;
  const std::vector<store::TagFilter> tags_;
  const std::string by_;
  const size_t top_;
  std::string file_, format_;
  bool usual_ = false, compares_ = false, is_bill_ = false;
};

}  // namespace
}  // namespace atalaya::report_command

ATALAYA_PLUGIN("report", "0.1.0", "command report", atalaya::report_command::Report)
