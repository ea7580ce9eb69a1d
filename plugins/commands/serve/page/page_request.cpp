// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/page/page_request.h"

#include <algorithm>

#include "core/base/text/text.h"
#include "plugins/shared/analysis/experiments/experiments.h"
#include "plugins/shared/io/time/time_text.h"
#include "plugins/shared/store/query/pieces.h"

namespace atalaya::serve {
namespace {

using query::Wrong;

constexpr int64_t kPageHour = 3'600'000'000'000;

}  // namespace

std::vector<store::TagFilter> page_filters(const Request &request) {
  std::vector<std::string> filters = request.texts("tag");
  for (const char *key : {"host", "process", "pid"})
    for (const std::string &value : request.texts(key))
      if (!value.empty()) filters.push_back(std::string(key) + "=" + value);
  return query::tag_filters("tag", filters);
}

int64_t page_count(const Request &request, const char *name, int64_t default_value, int64_t minimum, int64_t maximum) {
  const std::string text = request.text(name);
  if (text.empty()) return default_value;
  const auto value = core::number_from<int64_t>(text);
  if (!value || *value < minimum || *value > maximum)
    throw Wrong(std::string(name) + ": " + core::in_quotes(text) + " is not a whole number from " + std::to_string(minimum) +
                " to " + std::to_string(maximum));
  return *value;
}

std::string page_choice(const Request &request, const char *name, const std::vector<std::string> &choices) {
  const std::string text = request.text(name);
  if (text.empty()) return choices.front();
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return text;
  throw Wrong(std::string(name) + ": " + core::in_quotes(text) + " is unknown; write one of " + core::joined(choices));
}

query::Range page_times(const Request &request, int64_t now_ns) {
  const std::string from = request.text("from"), to = request.text("to");
  query::Range range;
  range.to_ns = to.empty() ? now_ns : query::time_of("to", to, now_ns);
  range.from_ns = from.empty() ? range.to_ns - kPageHour : query::time_of("from", from, now_ns);
  if (range.from_ns >= range.to_ns)
    throw Wrong("the range ends before it starts: from " + io::time_text(range.from_ns) + " to " + io::time_text(range.to_ns));
  return range;
}

query::Range PageCall::range() const {
  const std::string name = request.text("experiment");
  if (name.empty()) return page_times(request, now_ns);
  const experiments::Experiment found = experiments::find_experiment(store, name, request.text("workload"));
  return {found.start_ns, found.end_ns(now_ns)};
}

}  // namespace atalaya::serve
