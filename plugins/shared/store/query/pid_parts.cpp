// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/query/pid_parts.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/shared/store/query/engine.h"

namespace atalaya::query {
namespace {

using Read = std::function<void(const Query &, bool)>;

constexpr std::string_view kDigits = "0123456789";
constexpr size_t kMaxDigits = 3;  // at most 1,110 selections

Query with_pids(const Query &query, std::vector<std::string> patterns) {
  Query part = query;
  part.tags.push_back({"pid", std::move(patterns)});
  return part;
}

void read_pids(const Query &query, const std::string &last_digits, const Read &read) {
  try {
    return read(with_pids(query, {"*" + last_digits}), true);
  } catch (const TooManySeries &) {
    if (last_digits.size() == kMaxDigits) throw;
  }
  for (const char digit : kDigits) read_pids(query, digit + last_digits, read);
  read(with_pids(query, {last_digits}), true);
}

}  // namespace

void read_in_parts(const Query &query, const Read &read) {
  try {
    return read(query, false);
  } catch (const TooManySeries &) {
  }
  std::vector<std::string> others;
  for (const char digit : kDigits) {
    read_pids(query, std::string(1, digit), read);
    others.push_back(std::string("!*") + digit);
  }
  read(with_pids(query, std::move(others)), true);
}

void each_series(const Query &query, store::Store &store, Budget &budget, const std::function<void(const store::Series &)> &take) {
  const auto read = [&](const Query &some, bool) {
    for (const store::Series &series : selected(some, store, budget)) take(series);
    budget.check_time();
  };
  try {
    read_in_parts(query, read);
  } catch (const UnknownMetric &) {
  }
}

}  // namespace atalaya::query
