// SPDX-License-Identifier: Apache-2.0
// Command jvms: the JVMs of all hosts, their most expensive functions, and the stack and callers of one function.
#include <atalaya/plugin.hpp>

#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text/suggest.h"
#include "core/base/text/text.h"
#include "plugins/commands/jvms/text.h"
#include "plugins/shared/analysis/command_line/options.h"
#include "plugins/shared/analysis/command_line/output.h"
#include "plugins/shared/analysis/jvms/frames.h"
#include "plugins/shared/analysis/jvms/gather.h"

namespace atalaya::jvms {
namespace {

using namespace atalaya::literals;

class JvmsCommand final : public Command {
 public:
  static constexpr auto params = command_line::joined(
      command_line::kWindowParams,
      command_line::listed(
          param::list("host", command_line::kText, "Only JVMs of this host, or pattern (default: all hosts)").unit("HOST"),
          param::list("process", command_line::kText, "Only JVMs with this name, or pattern").unit("NAME"), command_line::kTag,
          param::string("function",
                        "One function, in the form of the table or with a dot before the method: "
                        "its most expensive stack, callers and JVMs")
              .unit("FUNCTION"),
          param::integer("top", "Maximum rows of a table; functions: of thread dumps, and of CPU samples")
              .defaults("20")
              .range(1, 1e6),
          param::choice("format", "table|json", "Output format").defaults("table")),
      command_line::kStoreParams);
  static constexpr Description description = {.name = "jvms"_str,
                                              .summary = "List the JVMs of all hosts and their most expensive functions"_str,
                                              .params = params,
                                              .example =
                                                  "atalaya jvms\n"
                                                  "atalaya jvms --process 'Executor*' --top 5\n"
                                                  "atalaya jvms --from -10m --function java.lang.String.hashCode"_str};

  explicit JvmsCommand(Host host)
      : options_(command_line::read_options(host)),
        tags_(command_line::read_tags(host)),
        top_(static_cast<size_t>(host.integer("top"))),
        json_(host.text("format") == "json") {
    for (const char *key : {"host", "process"})
      if (std::vector<std::string> patterns = host.texts(key); !patterns.empty()) tags_.push_back({key, std::move(patterns)});
    if (const auto function = host.find("function")) function_ = function_named(function->text());
  }

  int run(std::span<const atalaya_str>) override {
    return command_line::with_failures(
        [&] {
          command_line::Reading reading(options_);
          const Overview overview = overview_of(*reading.store, tags_, reading.range, reading.budget);
          if (overview.jvms.empty() && overview.functions.empty()) return report_no_points(reading);
          if (function_.empty()) {
            command_line::write_output({}, json_ ? overview_json(overview, top_) : overview_table(overview, top_));
            return 0;
          }
          const Detail detail = detail_of(wanted(overview), overview, *reading.store, tags_, reading.budget);
          command_line::write_output({}, json_ ? detail_json(detail, overview, top_) : detail_table(detail, overview, top_));
          return 0;
        },
        command_line::kAskForLessTime);
  }

 private:
  const Function &wanted(const Overview &overview) const {
    std::vector<std::string> names;
    for (const Function &function : overview.functions) {
      if (function.name == function_) return function;
      names.push_back(function.name);
    }
    throw Failure(Code::permanent, "no samples of function " + core::in_quotes(function_) + " from " +
                                       command_line::span_text(overview.range) + core::did_you_mean(function_, names));
  }

  int report_no_points(const command_line::Reading &reading) const {
    std::fprintf(stderr, "no JVMs from %s%s\n", command_line::span_text(reading.range).c_str(),
                 tags_.empty() ? "; run source jvm to find them (pipelines/jvm-profile.lua)" : " with these tags");
    return 1;
  }

  const command_line::ReadOptions options_;
  std::vector<store::TagFilter> tags_;
  const size_t top_;
  const bool json_;
  std::string function_;
};

}  // namespace
}  // namespace atalaya::jvms

ATALAYA_PLUGIN("jvms", "0.1.0", "command jvms", atalaya::jvms::JvmsCommand)
