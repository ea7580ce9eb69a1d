// SPDX-License-Identifier: Apache-2.0
// Command report: what processes, hosts and experiments used.
#include <atalaya/plugin.hpp>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "core/sample/json.h"
#include "core/sample/text.h"
#include "core/util/now.h"
#include "plugins/query/options.h"
#include "plugins/query/render.h"
#include "plugins/query/time_text.h"
#include "plugins/query/usage.h"

namespace atalaya::report_command {
namespace {

using namespace atalaya::literals;
using query::Range;
using query::Usage;

const std::vector<std::string> kUsual = {"proc.cpu.user", "proc.cpu.kernel", "proc.mem.resident", "proc.disk.reads.mb",
                                         "proc.disk.writes.mb"};

// A time with a name: the question's, or one experiment's.
struct Part {
  query::Tags tags;
  Range range;
  std::vector<Usage> usages;
};

std::string visible(const std::string &text) {
  std::string out;
  core::append_visible(out, text);
  return out;
}

class Report final : public Command {
 public:
  static constexpr Param params[] = {
      {.name = "by"_str,
       .type = ATALAYA_ENUM,
       .default_text = "process"_str,
       .allowed = "process|pid|host|experiment|all"_str,
       .summary = "What has a row of its own; experiment: each experiment and workload in the time."_str},
      query::metric_param(0),
      query::kTag,
      query::kFrom,
      query::kTo,
      query::kExperiment,
      query::kWorkload,
      {.name = "top"_str,
       .type = ATALAYA_INT,
       .flags = ATALAYA_BOUNDED,
       .default_text = "20"_str,
       .summary = "Rows of each metric, those that used most."_str,
       .min = 1,
       .max = 1e6},
      query::kStore,
      query::kMaxPoints,
      query::kTimeout,
      {.name = "format"_str,
       .type = ATALAYA_ENUM,
       .default_text = "table"_str,
       .allowed = "table|csv|json"_str,
       .summary = "How it is written."_str},
  };
  static constexpr Description description = {
      .name = "report"_str,
      .summary = "what was used in a time: core-seconds, MiB-hours, averages and extremes"_str,
      .params = params,
      .example = "atalaya report --by process --from -1h --top 10"_str};

  explicit Report(Host host)
      : options_(query::read_options(host)),
        metrics_(host.texts("metric")),
        by_(host.text("by")),
        format_(host.text("format")),
        top_(static_cast<size_t>(host.integer("top"))) {
    if (metrics_.empty()) metrics_ = kUsual;
    usual_ = metrics_ == kUsual;
    try {
      tags_ = query::tag_filters(host.texts("tag"));
    } catch (const query::Wrong &wrong) {
      throw Failure(Code::bad_config, "--tag: " + std::string(wrong.what()));
    }
  }

  int run(std::span<const atalaya_str>) override {
    return query::answered([&] {
      const auto store = query::open(options_);
      const int64_t now = core::realtime();
      std::vector<Part> parts = parts_of(query::range_of(options_, *store, now), *store, now);
      query::Budget budget(options_.limits);
      for (Part &part : parts) part.usages = usages_of(part.range, *store, budget);
      const std::string text = format_ == "json" ? as_json(parts) : as_rows(parts);
      std::fwrite(text.data(), 1, text.size(), stdout);
      return 0;
    });
  }

 private:
  std::vector<Part> parts_of(const Range &range, store::Store &store, int64_t now) const {
    if (by_ != "experiment") return {{{}, range, {}}};
    std::vector<Part> parts;
    for (const query::Experiment &one : query::experiments(store, options_.experiment)) {
      const Range own{one.start_ns, one.end_ns(now)};
      if (own.to_ns <= range.from_ns || own.from_ns >= range.to_ns || own.to_ns <= own.from_ns) continue;
      query::Tags tags = {{"experiment", one.name}};
      if (!one.workload.empty()) tags["workload"] = one.workload;
      parts.push_back({tags, own, {}});
    }
    if (parts.empty())
      std::fprintf(stderr, "no experiments from %s to %s\n", query::time_text(range.from_ns).c_str(),
                   query::time_text(range.to_ns).c_str());
    return parts;
  }

  std::vector<std::string> keys() const {
    if (by_ == "process") return {"host", "process"};
    if (by_ == "pid") return {"host", "process", "pid"};
    if (by_ == "host") return {"host"};
    return {};
  }
  std::vector<std::string> columns() const {
    return by_ == "experiment" ? std::vector<std::string>{"experiment", "workload"} : keys();
  }

  std::vector<Usage> usages_of(const Range &range, store::Store &store, query::Budget &budget) const {
    std::vector<Usage> usages;
    for (const std::string &metric : metrics_) {
      std::vector<Usage> own;
      try {
        own = query::usage_of({metric}, tags_, keys(), range, store, budget);
      } catch (const query::Wrong &) {
        if (!usual_) throw;  // of the usual ones those count that the store has
      }
      if (own.size() > top_) own.resize(top_);
      std::move(own.begin(), own.end(), std::back_inserter(usages));
    }
    return usages;
  }

  static std::string cell(const Part &part, const Usage &usage, const std::string &key) {
    for (const query::Tags *tags : {&part.tags, &usage.tags})
      if (const auto found = tags->find(key); found != tags->end()) return found->second;
    return "";
  }

  std::string as_rows(const std::vector<Part> &parts) const {
    std::vector<query::Row> rows = {columns()};
    for (const char *name : {"metric", "sum", "of", "avg", "max", "min", "unit"}) rows[0].emplace_back(name);
    for (const Part &part : parts) {
      for (const Usage &usage : part.usages) {
        query::Row row;
        for (const std::string &key : columns())
          row.push_back(format_ == "csv" ? cell(part, usage, key) : visible(cell(part, usage, key)));
        row.push_back(usage.metric);
        row.push_back(number(usage.sum));
        row.emplace_back(query::integral_unit(usage.metric).name);
        for (const double value : {usage.average, usage.max, usage.min}) row.push_back(number(value));
        row.emplace_back(usage.unit);
        rows.push_back(std::move(row));
      }
    }
    return format_ == "csv" ? query::as_csv_rows(rows) : query::as_columns(rows);
  }

  std::string number(double value) const {
    if (format_ == "csv") return query::rounded_text(value);
    char text[32];
    std::snprintf(text, sizeof text, "%.3f", value);
    return text;
  }

  std::string as_json(const std::vector<Part> &parts) const {
    std::string out = "[";
    for (const Part &part : parts) {
      for (const Usage &usage : part.usages) {
        out += out.size() > 1 ? ",\n{" : "{";
        for (const std::string &key : columns()) {
          if (const std::string value = cell(part, usage, key); !value.empty()) {
            core::append_json_string(out, key);
            core::append_json_string(out += ':', value);
            out += ',';
          }
        }
        core::append_json_string(out += "\"metric\":", usage.metric);
        for (const auto &[name, value] :
             {std::pair{"sum", usage.sum}, {"avg", usage.average}, {"max", usage.max}, {"min", usage.min}})
          core::append_number(out += ",\"" + std::string(name) + "\":", value);
        core::append_json_string(out += ",\"sumUnit\":", query::integral_unit(usage.metric).name);
        core::append_json_string(out += ",\"unit\":", usage.unit);
        out += ",\"from\":\"" + query::time_text(part.range.from_ns) + "\",\"to\":\"" + query::time_text(part.range.to_ns) + "\"}";
      }
    }
    return out + "]\n";
  }

  const query::ReadOptions options_;
  std::vector<std::string> metrics_;
  std::vector<store::TagFilter> tags_;
  const std::string by_, format_;
  const size_t top_;
  bool usual_ = false;
};

}  // namespace
}  // namespace atalaya::report_command

ATALAYA_PLUGIN("report", "0.1.0", "command report", atalaya::report_command::Report)
