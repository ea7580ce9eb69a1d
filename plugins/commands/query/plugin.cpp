// SPDX-License-Identifier: Apache-2.0
// Command query: series of the store as a table, CSV or JSON.
#include <atalaya/plugin.hpp>

#include <array>
#include <cstdio>
#include <string>

#include "plugins/shared/analysis/command_line/options.h"
#include "plugins/shared/analysis/command_line/output.h"
#include "plugins/shared/analysis/command_line/render.h"

namespace atalaya::query_command {
namespace {

using namespace atalaya::literals;

class Query final : public Command {
 public:
  static constexpr auto params = command_line::joined(
      command_line::kQuestionParams, command_line::kStoreParams,
      command_line::listed(
          command_line::kTotal,
          param::choice("format", "table|csv|json", "Output format; JSON times are in milliseconds").defaults("table")));
  static constexpr Description description = {.name = "query"_str,
                                              .summary = "Query the store: select, group and aggregate series"_str,
                                              .params = params,
                                              .example =
                                                  "atalaya query --metric 'sys.disk.*' --tag host=node1 --from -10m --every 30s\n"
                                                  "atalaya query --metric proc.cpu.user --group-by process --total\n"
                                                  "atalaya query --metric proc.mem.resident --experiment sort --format csv"_str};

  explicit Query(Host host)
      : options_(command_line::read_options(host)), question_(command_line::read_question(host)), format_(host.text("format")) {}

  int run(std::span<const atalaya_str>) override {
    return command_line::with_failures([&] {
      command_line::Reading reading(options_);
      const auto answers = command_line::run_query(question_, reading);
      if (answers.empty())
        command_line::report_no_points(question_.query.tags.empty() ? "points" : "points with these tags", reading.range);
      else
        command_line::check_keys(question_.query.group_by, answers);
      command_line::report_coverage(answers, reading.range);
      command_line::write_output("-", format_ == "json"  ? command_line::as_json(answers)
                                      : format_ == "csv" ? command_line::as_csv(answers)
                                                         : command_line::as_table(answers));
      return 0;
    });
  }

 private:
  const command_line::ReadOptions options_;
  const command_line::Question question_;
  const std::string format_;
};

}  // namespace
}  // namespace atalaya::query_command

ATALAYA_PLUGIN("query", "0.1.0", "command query", atalaya::query_command::Query)
