// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/command_line/options.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "core/base/now.h"
#include "plugins/shared/analysis/experiments/experiments.h"
#include "plugins/shared/analysis/experiments/ranges.h"
#include "plugins/shared/io/time/time_text.h"
#include "plugins/shared/store/location.h"
#include "plugins/shared/store/query/arithmetic/formula.h"
#include "plugins/shared/store/query/engine.h"
#include "plugins/shared/store/query/pieces.h"
#include "plugins/shared/store/query/usage.h"

namespace atalaya::command_line {
namespace {

constexpr int64_t kHour = 3'600'000'000'000;

void check(const ReadOptions &options) {
  if (!options.experiment.empty() && !(options.from + options.to).empty())
    throw query::Wrong("--experiment sets the time range; omit --from and --to");
  if (options.experiment.empty() && !options.workload.empty()) throw query::Wrong("--workload needs --experiment");
}

query::Range range_of(const ReadOptions &options, store::Store &store, int64_t now_ns) {
  if (!options.experiment.empty()) {
    const experiments::Experiment found = experiments::find_experiment(store, options.experiment, options.workload);
    return {found.start_ns, found.end_ns(now_ns)};
  }
  const int64_t to = options.to.empty() ? now_ns : experiments::time_of("--to", options.to, store, now_ns);
  const int64_t from = options.from.empty() ? to - kHour : experiments::time_of("--from", options.from, store, now_ns);
  if (from >= to) throw query::Wrong("the time ends before it begins: from " + io::time_text(from) + " to " + io::time_text(to));
  return {from, to};
}

// Returns the tags that groups of several metrics must have in common; null: all of their tags.
const std::vector<std::string> *group_keys(const query::Query &query) {
  const bool all = !query.group || std::find(query.group_by.begin(), query.group_by.end(), "*") != query.group_by.end();
  return all ? nullptr : &query.group_by;
}

// Returns the amount of each group over the range, as in a report: an answer with one value.
std::vector<query::Answer> totals_of(const Question &question, Reading &reading) {
  std::vector<query::Answer> answers;
  for (const std::string &metric : question.metrics) {
    for (query::Usage &usage :
         query::usage_of({metric}, question.query.tags, question.query.group_by, reading.range, *reading.store, reading.budget)) {
      reading.budget.reserve(1);
      query::Answer &answer = answers.emplace_back();
      answer.metric = std::move(usage.metric);
      answer.tags = std::move(usage.tags);
      answer.points = {{reading.range.to_ns, usage.sum}};
      answer.coverage = usage.coverage;
      if (usage.coverage < 1) answer.partly = {{reading.range.to_ns, usage.coverage}};
      answer.integral = usage.sum;
      answer.info = std::make_shared<const store::MetricInfo>(
          store::MetricInfo{.kind = store::Kind::delta, .unit = std::move(usage.sum_unit)});
    }
  }
  query::select_top(answers, question.top, reading.budget);
  return answers;
}

}  // namespace

std::string text_of(Host host, std::string_view name) {
  const auto value = host.find(name);
  return value ? std::string(value->text()) : "";
}

ReadOptions read_options(Host host) {
  ReadOptions options;
  options.stores = host.texts("store");
  if (std::string one = text_of(host, "store"); options.stores.empty() && !one.empty()) options.stores.push_back(std::move(one));
  options.from = text_of(host, "from");
  options.to = text_of(host, "to");
  options.experiment = text_of(host, "experiment");
  options.workload = text_of(host, "workload");
  if (const auto points = host.find("max_points")) options.limits.points = static_cast<size_t>(points->integer());
  if (const auto timeout = host.find("timeout")) options.limits.time_ns = timeout->integer();
  with_failures([&] { check(options); });
  return options;
}

std::string advised(std::string message, std::string_view advice) {
  if (message.ends_with(query::kAskForLess))
    message.replace(message.size() - std::string_view(query::kAskForLess).size(), std::string::npos, advice);
  return message;
}

std::string one_store(const ReadOptions &options) {
  if (options.stores.size() > 1) throw query::Wrong("this command writes to the store; give --store once");
  return options.stores.empty() ? "" : options.stores.front();
}

std::string sqlite_path(const ReadOptions &options) {
  std::string store = store::store_of(options.stores.empty() ? "" : options.stores.front());
  if (store.starts_with("clickhouse:"))
    throw query::Wrong("this command reads embedded stores only; --store must be a path or sqlite:PATH");
  return store;
}

Reading::Reading(const ReadOptions &options)
    : store(store::open_store(options.stores, std::chrono::nanoseconds(options.limits.time_ns))),
      now_ns(core::realtime()),
      range(range_of(options, *store, now_ns)),
      budget(options.limits) {}

Reading::~Reading() {
  if (const std::string damage = store->take_damage(); !damage.empty())
    std::fprintf(stderr, "atalaya: warning: %s\n", damage.c_str());
}

std::vector<store::TagFilter> read_tags(Host host) {
  return with_failures([&] { return query::tag_filters("--tag", host.texts("tag")); });
}

// A total is one amount a group.
void check_total(const Question &question) {
  if (!question.total) return;
  const query::Query &query = question.query;
  if (query.downsample || query.rate || !question.formula.empty() || !query.group)
    throw query::Wrong("--total is the amount of the whole range; omit --every, --rate, --formula and --aggregate");
  if (std::find(query.group_by.begin(), query.group_by.end(), "*") != query.group_by.end())
    throw query::Wrong("--total: name the tags of --group-by instead of \"*\"");
}

Question read_question(Host host) {
  Question question;
  question.metrics = host.texts("metric");
  question.query.tags = read_tags(host);
  with_failures([&] {
    set_aggregator(question.query, "--aggregate", host.text("aggregate"));
    if (const auto every = host.find("every")) set_downsample(question.query, "--every", every->text());
  });
  question.query.group_by = query::parts_of(host.texts("group_by"));
  if (const auto rate = host.find("rate"); rate && rate->boolean()) question.query.rate = query::Rate{};
  if (const auto top = host.find("top")) question.top = static_cast<size_t>(top->integer());
  question.formula = text_of(host, "formula");
  if (const auto total = host.find("total")) question.total = total->boolean();
  with_failures([&] { check_total(question); });
  return question;
}

std::vector<query::Answer> run_query(const Question &question, Reading &reading) {
  if (question.total) return totals_of(question, reading);
  std::vector<std::vector<query::Answer>> parts;
  parts.reserve(question.metrics.size());
  for (const std::string &metric : question.metrics) {
    query::Query query = question.query;
    query.metrics = {metric};
    query.range = reading.range;
    parts.push_back(query::run_query(query, *reading.store, reading.budget));
  }
  std::vector<query::Answer> answers;
  if (!question.formula.empty()) {
    answers = evaluate(question.formula, parts, reading.budget, group_keys(question.query));
    for (const std::vector<query::Answer> &part : parts) query::release(part, reading.budget);
  } else {
    for (std::vector<query::Answer> &part : parts) std::move(part.begin(), part.end(), std::back_inserter(answers));
  }
  query::select_top(answers, question.top, reading.budget);
  return answers;
}

}  // namespace atalaya::command_line
