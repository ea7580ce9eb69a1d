// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/query/pieces.h"

#include <algorithm>
#include <utility>

#include "core/base/text/suggest.h"
#include "core/base/text/text.h"
#include "plugins/shared/io/time/time_text.h"
#include "plugins/shared/store/query/windows/downsample.h"

namespace atalaya::query {
namespace {

[[noreturn]] void wrong(std::string_view where, const std::string &what) {
  throw Wrong(std::string(where) + ": " + what);
}

}  // namespace

int64_t time_of(std::string_view where, std::string_view text, int64_t now_ns) {
  const auto time = io::parse_time(text, now_ns);
  if (!time) wrong(where, time.error());
  return time.value();
}

Aggregator aggregator_of(std::string_view where, std::string_view name) {
  auto known = Aggregator::find(name);
  if (known) return *std::move(known);
  std::string advice = core::did_you_mean(name, Aggregator::names());
  if (advice.empty()) advice = "; functions are sum, avg, min, max, count, median, p95 and so on";
  wrong(where, core::in_quotes(name) + " is not known" + advice);
}

void set_aggregator(Query &query, std::string_view where, std::string_view name) {
  query.group = name != "none";
  if (query.group) query.aggregator = aggregator_of(where, name);
}

void set_downsample(Query &query, std::string_view where, std::string_view text) {
  const auto downsample = parse_downsample(text);
  if (!downsample) wrong(where, downsample.error());
  query.downsample = downsample.value();
}

std::vector<store::TagFilter> tag_filters(std::string_view where, const std::vector<std::string> &words) {
  std::vector<store::TagFilter> filters;
  for (const std::string &word : words) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) wrong(where, core::in_quotes(word) + " is not of the form KEY=VALUE");
    const std::string key = word.substr(0, equals);
    auto filter = std::find_if(filters.begin(), filters.end(), [&](const store::TagFilter &known) { return known.key == key; });
    if (filter == filters.end()) filter = filters.insert(filters.end(), {key, {}});
    filter->patterns.push_back(word.substr(equals + 1));
  }
  return filters;
}

std::string exact_pattern(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view("*?[]\\!~").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

std::vector<std::string> parts_of(std::string_view text, char between) {
  const std::vector<std::string_view> parts = core::split(text, between);
  return {parts.begin(), parts.end()};
}

std::vector<std::string> parts_of(const std::vector<std::string> &lists) {
  std::vector<std::string> all;
  for (const std::string &list : lists)
    for (std::string &part : parts_of(list, ','))
      if (!part.empty()) all.push_back(std::move(part));
  return all;
}

}  // namespace atalaya::query
