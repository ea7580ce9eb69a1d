// SPDX-License-Identifier: Apache-2.0
// Commands metrics, processes and tags: names that a store holds.
#include <atalaya/plugin.hpp>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/text/suggest.h"
#include "core/base/text/text.h"
#include "plugins/commands/contents/listing.h"
#include "plugins/shared/analysis/command_line/options.h"
#include "plugins/shared/analysis/command_line/output.h"
#include "plugins/shared/io/match/matcher.h"
#include "plugins/shared/io/units/unit_text.h"
#include "plugins/shared/store/query/pid_parts.h"

namespace atalaya::contents {
namespace {

using namespace atalaya::literals;
using query::Wrong;

constexpr Param kLimit = param::integer("limit", "Maximum rows").defaults("1000").range(1, 1e6);
constexpr Param kFormat =
    param::choice("format", "table|json|names", "Output format; names: the first column, without names that a terminal cannot show")
        .defaults("table");

// The common parameters and output of the three commands.
class Contents : public Command {
 protected:
  explicit Contents(Host host)
      : options_(command_line::read_options(host)),
        tags_(host.find("tag") ? command_line::read_tags(host) : std::vector<store::TagFilter>{}),
        limit_(static_cast<size_t>(host.integer("limit"))),
        format_(host.text("format")) {}

  bool has_range() const { return !(options_.from + options_.to + options_.experiment).empty() || !tags_.empty(); }

  int print(Listing listing, const std::string &missing) const {
    const size_t rows = listing.rows.size();
    if (rows == 0) std::fprintf(stderr, "no %s\n", missing.c_str());
    listing.rows.resize(std::min(rows, limit_));
    command_line::write_output("-", format_ == "json"    ? as_json(listing)
                                    : format_ == "names" ? as_names(listing)
                                                         : as_table(listing));
    if (rows > limit_) std::fprintf(stderr, "%zu more rows; write a pattern or raise --limit\n", rows - limit_);
    return 0;
  }

  // Calls `take` with each series with these metrics and tags in the range.
  static void each_series(const std::vector<std::string> &metrics, const std::vector<store::TagFilter> &tags,
                          command_line::Reading &reading, const std::function<void(const store::Series &)> &take) {
    query::Query all;
    all.metrics = metrics;
    all.tags = tags;
    all.range = reading.range;
    query::each_series(all, *reading.store, reading.budget, take);
  }

  static std::vector<std::string> patterns_of(std::span<const atalaya_str> arguments) {
    std::vector<std::string> patterns;
    for (const atalaya_str &argument : arguments) patterns.emplace_back(view(argument));
    return patterns;
  }

  bool only_names() const { return format_ == "names"; }

  const command_line::ReadOptions options_;
  const std::vector<store::TagFilter> tags_;

 private:
  const size_t limit_;
  const std::string format_;
};

io::MatcherList matcher_of(const std::vector<std::string> &patterns) {
  auto matcher = io::MatcherList::parse(patterns);
  if (!matcher) throw Wrong(matcher.error());
  return std::move(matcher).value();
}

class Metrics final : public Contents {
 public:
  static constexpr auto params = command_line::joined(command_line::listed(command_line::kTag), command_line::kWindowParams,
                                                      command_line::listed(kLimit, kFormat), command_line::kStoreParams);
  static constexpr Description description = {.name = "metrics"_str,
                                              .summary = "List the metrics of the store, with kinds and units"_str,
                                              .params = params,
                                              .operands = "[PATTERN...]"_str,
                                              .example =
                                                  "atalaya metrics\n"
                                                  "atalaya metrics 'proc.*' --from -10m\n"
                                                  "atalaya metrics --tag process=java --format json"_str};

  explicit Metrics(Host host) : Contents(host) {}

  int run(std::span<const atalaya_str> arguments) override {
    return command_line::with_failures([&] {
      command_line::Reading reading(options_);
      const std::vector<std::string> patterns = patterns_of(arguments);
      const io::MatcherList wanted = matcher_of(patterns);
      std::set<std::string> present;
      if (has_range()) each_series(patterns, tags_, reading, [&](const store::Series &series) { present.insert(series.metric); });
      Listing listing{{"metric", "kind", "unit", "summary"}, {}};
      for (const auto &[name, info] : reading.store->catalogue()) {
        if (has_range() ? !present.contains(name) : !wanted.empty() && !wanted.matches(name)) continue;
        const store::MetricInfo known = info ? *info : store::MetricInfo{};
        listing.rows.push_back({name, std::string(store::text_of(known.kind)), io::shown_unit(known.unit), known.summary});
      }
      return print(std::move(listing), has_range() ? "metrics from " + command_line::span_text(reading.range) : "metrics");
    });
  }
};

class Processes final : public Contents {
 public:
  static constexpr auto params = command_line::joined(command_line::listed(command_line::kTag), command_line::kWindowParams,
                                                      command_line::listed(kLimit, kFormat), command_line::kStoreParams);
  static constexpr Description description = {.name = "processes"_str,
                                              .summary = "List the processes of the store by name, with hosts and pids"_str,
                                              .params = params,
                                              .operands = "[PATTERN...]"_str,
                                              .example =
                                                  "atalaya processes\n"
                                                  "atalaya processes 'java*' --tag host=node1 --from today\n"
                                                  "atalaya processes --experiment sort --format json"_str};

  explicit Processes(Host host) : Contents(host) {}

  int run(std::span<const atalaya_str> arguments) override {
    return command_line::with_failures([&] {
      command_line::Reading reading(options_);
      std::vector<std::string> patterns = patterns_of(arguments);
      if (patterns.empty()) patterns.emplace_back("*");
      std::vector<store::TagFilter> tags = tags_;
      tags.push_back({"process", std::move(patterns)});
      struct Seen {
        std::set<std::string> hosts, metrics;
        std::set<std::pair<std::string, std::string>> pids;
      };
      std::map<std::string, Seen> processes;
      const auto tag = [](const store::Series &series, const char *key) {
        const auto found = series.tags.find(key);
        return found == series.tags.end() ? std::string() : found->second;
      };
      each_series({}, tags, reading, [&](const store::Series &series) {
        if (!series.tags.contains("process")) return;  // a negated pattern also matches series without the tag
        Seen &seen = processes[tag(series, "process")];
        seen.hosts.insert(tag(series, "host"));
        seen.metrics.insert(series.metric);
        if (const std::string pid = tag(series, "pid"); !pid.empty()) seen.pids.emplace(tag(series, "host"), pid);
      });
      Listing listing{{"process", "hosts", "pids", "metrics"}, {}};
      for (const auto &[name, seen] : processes)
        listing.rows.push_back({name, static_cast<int64_t>(seen.hosts.size()), static_cast<int64_t>(seen.pids.size()),
                                static_cast<int64_t>(seen.metrics.size())});
      return print(std::move(listing), "processes from " + command_line::span_text(reading.range));
    });
  }
};

class Tags final : public Contents {
 public:
  static constexpr auto params = command_line::joined(command_line::listed(kLimit, kFormat), command_line::kStoreParams);
  static constexpr Description description = {.name = "tags"_str,
                                              .summary = "List the tags of the store, or the values of one tag"_str,
                                              .params = params,
                                              .operands = "[KEY [PATTERN...]]"_str,
                                              .example =
                                                  "atalaya tags\n"
                                                  "atalaya tags host\n"
                                                  "atalaya tags process 'java*' --format json"_str};

  explicit Tags(Host host) : Contents(host) {}

  int run(std::span<const atalaya_str> arguments) override {
    return command_line::with_failures([&] {
      command_line::Reading reading(options_);
      const std::vector<std::string> keys = reading.store->tag_keys();
      if (arguments.empty()) {
        Listing listing{{"tag", "values"}, {}};
        for (const std::string &key : keys)
          listing.rows.push_back({key, static_cast<int64_t>(only_names() ? 0 : reading.store->tag_values(key).size())});
        return print(std::move(listing), "tags");
      }
      const std::string key(view(arguments[0]));
      if (std::find(keys.begin(), keys.end(), key) == keys.end())
        throw Wrong("tag " + core::in_quotes(key) + " is not in the store " + reading.store->name() +
                    core::did_you_mean(key, keys));
      const io::MatcherList wanted = matcher_of(patterns_of(arguments.subspan(1)));
      Listing listing{{key}, {}};
      for (const std::string &value : reading.store->tag_values(key))
        if (wanted.empty() || wanted.matches(value)) listing.rows.push_back({value});
      return print(std::move(listing), "values of the tag " + key);
    });
  }
};

}  // namespace
}  // namespace atalaya::contents

ATALAYA_PLUGIN("contents", "0.1.0", "command metrics\ncommand processes\ncommand tags", atalaya::contents::Metrics,
               atalaya::contents::Processes, atalaya::contents::Tags)
