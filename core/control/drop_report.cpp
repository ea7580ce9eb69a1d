// SPDX-License-Identifier: Apache-2.0
#include "core/control/drop_report.h"

#include <string_view>

namespace atalaya::core {
namespace {

constexpr int64_t kPause = 60'000'000'000;

}  // namespace

std::string_view remedy_of_drop(std::string_view reason) {
  static const std::map<std::string_view, std::string_view> remedies = {
      {"queue full", "the sink is slower than its pipeline: give it a spool, a larger queue or when_full = \"block\""},
      {"spool full",
       "the sink has been slow or away for long: raise max of its spool, lower min_free, or use when_full = \"block\""},
      {"larger than the spool", "raise max of the spool"},
      {"too old", "the sink was away for longer than max_age of its spool: raise max_age or remove it"},
      {"spool damaged",
       "`atalaya spool verify DIR` shows the place; check the disk, and that no program changes the spool's files"},
      {"refused", "the sink's earlier messages have the cause; dead_letters keeps refused samples, where a sink has it"},
      {"refused by the server", "the server's answer is in the log; dead_letters keeps refused samples"},
      {"shutdown", "the agent stopped before they were delivered: a spool keeps them"},
      {"function failed", "correct the Lua function; its error is in the log"},
      {"stage failed", "the component's error is in the log"},
      {"stage unavailable", "the component's error is in the log; `atalaya doctor` lists missing needs"},
      {"refused with an error to the sender", "the senders' requests are invalid or too large; they get the reason in the answer"},
  };
  const auto found = remedies.find(reason);
  return found == remedies.end() ? std::string_view{} : found->second;
}

DropReport::DropReport(const std::vector<LedgerRow> &before) {
  for (const LedgerRow &row : before) skip_earlier(row);
}

void DropReport::skip_earlier(const LedgerRow &row) {
  spools_[{row.pipeline, row.component}] = row.spool;
  for (const auto &[reason, samples] : row.reasons) reported_[{row.pipeline, row.component, reason}].samples = samples;
}

std::vector<std::string> DropReport::lines(const std::vector<LedgerRow> &rows, int64_t now_ns) {
  std::vector<std::string> all;
  for (const LedgerRow &row : rows) {
    if (const auto known = spools_.find({row.pipeline, row.component});
        row.spool != 0 && (known == spools_.end() || known->second != row.spool)) {
      skip_earlier(row);
      continue;
    }
    for (const auto &[reason, samples] : row.reasons) {
      if (reason == "filtered") continue;
      Reported &reported = reported_[{row.pipeline, row.component, reason}];
      if (samples <= reported.samples || (reported.ever && now_ns - reported.at_ns < kPause)) continue;
      std::string line = "pipeline \"" + row.pipeline + "\", " + row.component + ": " + std::to_string(samples - reported.samples) +
                         " samples dropped (" + reason + ")";
      if (const std::string_view remedy = remedy_of_drop(reason); !remedy.empty()) line.append(": ").append(remedy);
      all.push_back(std::move(line));
      reported = {samples, now_ns, true};
    }
  }
  return all;
}

}  // namespace atalaya::core
