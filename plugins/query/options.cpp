// SPDX-License-Identifier: Apache-2.0
#include "plugins/query/options.h"

#include <algorithm>
#include <iterator>

#include "core/util/suggest.h"
#include "core/util/text.h"
#include "plugins/query/downsample.h"
#include "plugins/query/engine.h"
#include "plugins/query/formula.h"
#include "plugins/query/time_text.h"
#include "plugins/store/location.h"

namespace atalaya::query {
namespace {

constexpr int64_t kHour = 3'600'000'000'000;

std::string text_of(Host host, std::string_view name) {
  const auto value = host.find(name);
  return value ? std::string(value->text()) : "";
}

[[noreturn]] void wrong(const std::string &option, const std::string &what) {
  throw Failure(Code::bad_config, option + ": " + what);
}

int64_t time_of(const char *option, const std::string &text, int64_t otherwise, int64_t now_ns) {
  if (text.empty()) return otherwise;
  const auto time = parse_time(text, now_ns);
  if (!time) throw Wrong(std::string(option) + ": " + time.error());
  return time.value();
}

std::vector<std::string> split(const std::vector<std::string> &words) {
  std::vector<std::string> parts;
  for (const std::string &word : words) {
    size_t begin = 0;
    for (size_t comma = 0; comma != std::string::npos; begin = comma + 1) {
      comma = word.find(',', begin);
      if (const std::string part = word.substr(begin, comma - begin); !part.empty()) parts.push_back(part);
    }
  }
  return parts;
}

}  // namespace

std::vector<store::TagFilter> tag_filters(const std::vector<std::string> &words) {
  std::vector<store::TagFilter> filters;
  for (const std::string &word : words) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) throw Wrong(core::in_quotes(word) + " is not of the form KEY=VALUE");
    const std::string key = word.substr(0, equals);
    auto filter = std::find_if(filters.begin(), filters.end(), [&](const store::TagFilter &known) { return known.key == key; });
    if (filter == filters.end()) filter = filters.insert(filters.end(), {key, {}});
    filter->patterns.push_back(word.substr(equals + 1));
  }
  return filters;
}

ReadOptions read_options(Host host) {
  ReadOptions options;
  options.store = text_of(host, "store");
  options.from = text_of(host, "from");
  options.to = text_of(host, "to");
  options.experiment = text_of(host, "experiment");
  options.workload = text_of(host, "workload");
  if (!options.experiment.empty() && !(options.from + options.to).empty())
    throw Failure(Code::bad_config, "--experiment is a time of its own; leave out --from and --to");
  if (options.experiment.empty() && !options.workload.empty())
    throw Failure(Code::bad_config, "--workload is one of an experiment; name that with --experiment");
  if (const auto points = host.find("max_points")) options.limits.points = static_cast<size_t>(points->integer());
  if (const auto timeout = host.find("timeout")) options.limits.time_ns = timeout->integer();
  return options;
}

std::unique_ptr<store::Store> open(const ReadOptions &options) {
  return store::open_store(options.store);
}

std::string sqlite_path(std::string store) {
  constexpr std::string_view kSqlite = "sqlite:";
  if (store.starts_with("clickhouse:"))
    throw Wrong("this works on an embedded store only; --store takes a path or sqlite:PATH here");
  if (store.starts_with(kSqlite)) store.erase(0, kSqlite.size());
  return store.empty() ? store::default_path() : store;
}

Range range_of(const ReadOptions &options, store::Store &store, int64_t now_ns) {
  if (!options.experiment.empty()) {
    const Experiment found = find_experiment(store, options.experiment, options.workload);
    return {found.start_ns, found.end_ns(now_ns)};
  }
  const int64_t to = time_of("--to", options.to, now_ns, now_ns);
  const Range range{time_of("--from", options.from, to - kHour, now_ns), to};
  if (range.from_ns >= range.to_ns)
    throw Wrong("the time ends before it begins: from " + time_text(range.from_ns) + " to " + time_text(range.to_ns));
  return range;
}

QueryOptions read_query_options(Host host) {
  QueryOptions options;
  options.metrics = host.texts("metric");
  const std::string aggregator = host.text("aggregate");
  options.query.group = aggregator != "none";
  if (options.query.group) {
    const auto known = Aggregator::find(aggregator);
    if (!known)
      wrong("--aggregate", core::in_quotes(aggregator) + " is not known" + core::did_you_mean(aggregator, Aggregator::names()));
    options.query.aggregator = *known;
  }
  if (const auto every = host.find("every")) {
    const auto downsample = parse_downsample(every->text());
    if (!downsample) wrong("--every", downsample.error());
    options.query.downsample = downsample.value();
  }
  options.query.group_by = split(host.texts("group_by"));
  if (const auto rate = host.find("rate"); rate && rate->boolean()) options.query.rate = Rate{};
  if (const auto top = host.find("top")) options.top = static_cast<size_t>(top->integer());
  options.formula = text_of(host, "formula");
  try {
    options.query.tags = tag_filters(host.texts("tag"));
  } catch (const Wrong &error) {
    wrong("--tag", error.what());
  }
  return options;
}

std::vector<Answer> answers_to(const QueryOptions &options, const Range &range, store::Store &store, Budget &budget) {
  std::vector<std::vector<Answer>> parts;
  for (const std::string &metric : options.metrics) {
    Query query = options.query;
    query.metrics = {metric};
    query.range = range;
    parts.push_back(answers_to(query, store, budget));
  }
  std::vector<Answer> answers;
  if (!options.formula.empty()) {
    answers = evaluate(options.formula, parts, budget);
  } else {
    for (std::vector<Answer> &part : parts) std::move(part.begin(), part.end(), std::back_inserter(answers));
  }
  keep_top(answers, options.top);
  return answers;
}

}  // namespace atalaya::query
