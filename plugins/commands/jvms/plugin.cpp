// SPDX-License-Identifier: Apache-2.0
// Command jvms: the JVMs of all hosts, the functions that take their time, and one function's stack and callers.
#include <atalaya/plugin.hpp>

#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/suggest.h"
#include "core/base/text.h"
#include "plugins/commands/jvms/frames.h"
#include "plugins/commands/jvms/gather.h"
#include "plugins/commands/jvms/text.h"
#include "plugins/shared/analysis/query/options.h"
#include "plugins/shared/analysis/query/output.h"

namespace atalaya::jvms {
namespace {

using namespace atalaya::literals;

constexpr Param list_param(atalaya_str name, atalaya_str unit, atalaya_str summary) {
  return {.name = name,
          .type = ATALAYA_LIST,
          .unit = unit,
          .summary = summary,
          .items = query::kText,
          .item_count = 1,
          .item_size = sizeof(Param)};
}

class JvmsCommand final : public Command {
 public:
  static constexpr auto params = query::joined(
      query::kWindowParams,
      std::array{
          list_param("host"_str, "HOST"_str, "Only JVMs of this host, or pattern of hosts; without it those of all."_str),
          list_param("process"_str, "NAME"_str, "Only JVMs of this name, or pattern of names."_str), query::kTag,
          Param{
              .name = "function"_str,
              .type = ATALAYA_STRING,
              .unit = "FUNCTION"_str,
              .summary =
                  "One function, as the table writes it or with a dot before its method: its stack with most time, its callers, its JVMs."_str},
          Param{.name = "top"_str,
                .type = ATALAYA_INT,
                .flags = ATALAYA_BOUNDED,
                .default_text = "20"_str,
                .summary = "Rows of a table; of functions the first by thread dumps and the first by samples of CPUs."_str,
                .min = 1,
                .max = 1e6},
          Param{.name = "format"_str,
                .type = ATALAYA_ENUM,
                .default_text = "table"_str,
                .allowed = "table|json"_str,
                .summary = "How it is written."_str}},
      query::kStoreParams);
  static constexpr Description description = {.name = "jvms"_str,
                                              .summary = "the JVMs of all hosts, and the functions that take their time"_str,
                                              .params = params,
                                              .example = "atalaya jvms --from -10m --function java.lang.String.hashCode"_str};

  explicit JvmsCommand(Host host)
      : options_(query::read_options(host)),
        tags_(query::read_tags(host)),
        top_(static_cast<size_t>(host.integer("top"))),
        json_(host.text("format") == "json") {
    for (const char *key : {"host", "process"})
      if (std::vector<std::string> patterns = host.texts(key); !patterns.empty()) tags_.push_back({key, std::move(patterns)});
    if (const auto function = host.find("function")) function_ = function_named(function->text());
  }

  int run(std::span<const atalaya_str>) override {
    return query::answered(
        [&] {
          query::Reading reading(options_);
          const Overview overview = overview_of(*reading.store, tags_, reading.range, reading.budget);
          if (overview.jvms.empty() && overview.functions.empty()) return say_nothing(reading);
          if (function_.empty()) {
            query::write_output({}, json_ ? overview_json(overview, top_) : overview_table(overview, top_));
            return 0;
          }
          const Detail detail = detail_of(wanted(overview), overview, *reading.store, tags_, reading.budget);
          query::write_output({}, json_ ? detail_json(detail, overview, top_) : detail_table(detail, overview, top_));
          return 0;
        },
        query::kAskForLessTime);
  }

 private:
  const Function &wanted(const Overview &overview) const {
    std::vector<std::string> names;
    for (const Function &function : overview.functions) {
      if (function.name == function_) return function;
      names.push_back(function.name);
    }
    throw Failure(Code::permanent, "function " + core::in_quotes(function_) + " took no time that is known, from " +
                                       query::span_text(overview.range) + core::did_you_mean(function_, names));
  }

  int say_nothing(const query::Reading &reading) const {
    std::fprintf(stderr, "no JVMs from %s%s\n", query::span_text(reading.range).c_str(),
                 tags_.empty() ? "; source jvm finds them, a window at a time: pipelines/jvm.lua" : " with these tags");
    return 1;
  }

  const query::ReadOptions options_;
  std::vector<store::TagFilter> tags_;
  const size_t top_;
  const bool json_;
  std::string function_;
};

}  // namespace
}  // namespace atalaya::jvms

ATALAYA_PLUGIN("jvms", "0.1.0", "command jvms", atalaya::jvms::JvmsCommand)
