// SPDX-License-Identifier: Apache-2.0
// Command explain: what changed in a range of time against a baseline.
#include <atalaya/plugin.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "plugins/shared/analysis/command_line/options.h"
#include "plugins/shared/analysis/command_line/output.h"
#include "plugins/shared/analysis/explain/against.h"
#include "plugins/shared/analysis/explain/explanation.h"

namespace atalaya::explain_command {
namespace {

using namespace atalaya::literals;

class Explain final : public Command {
 public:
  static constexpr auto params = command_line::joined(
      command_line::kWindowParams,
      command_line::listed(
          param::string("against",
                        "Baseline: before (the same length of time just before), yesterday, "
                        "FROM..TO, an experiment, host=NAME (another host, at the same time), or hosts (the mean of all "
                        "other hosts)")
              .defaults("before")
              .unit("BASELINE"),
          command_line::kTag,
          param::choice("by", "process|pid|container|unit|user|cgroup|host", "Parts of a difference").defaults("process"),
          param::integer("top", "Maximum parts of a difference by name").defaults("5").range(1, 1000)),
      command_line::kStoreParams, command_line::listed(param::choice("format", "text|json", "Output format").defaults("text")));
  static constexpr Description description = {.name = "explain"_str,
                                              .summary = "Explain what changed: causes, effects, and what did not change"_str,
                                              .params = params,
                                              .example =
                                                  "atalaya explain --from -5m\n"
                                                  "atalaya explain --from 10:00 --to 10:15 --against yesterday\n"
                                                  "atalaya explain --experiment sort-tuned --against sort"_str};

  explicit Explain(Host host)
      : options_(command_line::read_options(host)),
        against_(host.text("against")),
        tags_(command_line::read_tags(host)),
        by_(host.text("by")),
        top_(static_cast<size_t>(host.integer("top"))),
        json_(host.text("format") == "json") {}

  int run(std::span<const atalaya_str>) override {
    return command_line::with_failures(
        [&] {
          command_line::Reading reading(options_);
          explain::Reader reader{*reading.store, reading.budget};
          explain::Request request;
          request.window = {reading.range, tags_};
          request.by = by_;
          request.top = top_;
          explain::set_baseline(request, against_, *reading.store, reading.now_ns);
          const explain::Explanation explanation = explain::explain(request, reader);
          command_line::write_output("", json_ ? as_json(explanation) : as_text(explanation));
          return 0;
        },
        command_line::kAskForLessTime);
  }

 private:
  const command_line::ReadOptions options_;
  const std::string against_;
  const std::vector<store::TagFilter> tags_;
  const std::string by_;
  const size_t top_;
  const bool json_;
};

}  // namespace
}  // namespace atalaya::explain_command

ATALAYA_PLUGIN("explain", "0.1.0", "command explain", atalaya::explain_command::Explain)
