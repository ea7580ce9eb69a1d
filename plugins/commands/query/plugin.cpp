// SPDX-License-Identifier: Apache-2.0
// Command query: points of the store as a table, CSV or JSON.
#include <atalaya/plugin.hpp>

#include <cstdio>
#include <string>

#include "core/util/now.h"
#include "plugins/query/options.h"
#include "plugins/query/render.h"
#include "plugins/query/time_text.h"

namespace atalaya::query_command {
namespace {

using namespace atalaya::literals;

class Query final : public Command {
 public:
  static constexpr Param params[] = {
      query::metric_param(ATALAYA_REQUIRED),
      query::kTag,
      query::kFrom,
      query::kTo,
      query::kExperiment,
      query::kWorkload,
      query::kAggregate,
      query::kEvery,
      query::kGroupBy,
      query::kRate,
      query::kFormula,
      query::kTop,
      query::kStore,
      query::kMaxPoints,
      query::kTimeout,
      {.name = "format"_str,
       .type = ATALAYA_ENUM,
       .default_text = "table"_str,
       .allowed = "table|csv|json"_str,
       .summary = "How the answers are written; JSON has times in milliseconds."_str},
  };
  static constexpr Description description = {
      .name = "query"_str,
      .summary = "points of the store: chosen, grouped, aggregated, as a table, CSV or JSON"_str,
      .params = params,
      .example = "atalaya query --metric proc.cpu.user --tag process=java --from -10m --every 30s --group-by host"_str};

  explicit Query(Host host)
      : options_(query::read_options(host)), query_(query::read_query_options(host)), format_(host.text("format")) {}

  int run(std::span<const atalaya_str>) override {
    return query::answered([&] {
      const auto store = query::open(options_);
      const query::Range range = query::range_of(options_, *store, core::realtime());
      query::Budget budget(options_.limits);
      print(query::answers_to(query_, range, *store, budget), range);
      return 0;
    });
  }

 private:
  void print(const std::vector<query::Answer> &answers, const query::Range &range) const {
    if (answers.empty())
      std::fprintf(stderr, "no points from %s to %s\n", query::time_text(range.from_ns).c_str(),
                   query::time_text(range.to_ns).c_str());
    const std::string text = format_ == "json"  ? query::as_json(answers)
                             : format_ == "csv" ? query::as_csv(answers)
                                                : query::as_table(answers);
    std::fwrite(text.data(), 1, text.size(), stdout);
  }

  const query::ReadOptions options_;
  const query::QueryOptions query_;
  const std::string format_;
};

}  // namespace
}  // namespace atalaya::query_command

ATALAYA_PLUGIN("query", "0.1.0", "command query", atalaya::query_command::Query)
