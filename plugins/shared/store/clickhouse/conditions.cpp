// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/clickhouse/conditions.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

#include "plugins/shared/io/match/matcher.h"

namespace atalaya::store::clickhouse {
namespace {

// A longer list is not worth the way: it would not fit into a URL as parameters.
constexpr size_t kMaxListLength = 4096;

void append_like(std::string &like, char byte) {
  if (byte == '%' || byte == '_' || byte == '\\') like += '\\';
  like += byte;
}

// A glob for LIKE: "?" is a byte there and a character here, and LIKE has no sets.
std::string glob_to_like(std::string_view glob) {
  std::string like;
  for (size_t i = 0; i < glob.size(); ++i) {
    if (glob[i] == '[') return like + "%";
    if (glob[i] == '*' || glob[i] == '?') {
      like += '%';
    } else {
      if (glob[i] == '\\' && i + 1 < glob.size()) ++i;
      append_like(like, glob[i]);
    }
  }
  return like;
}

// The text that all matches begin with: up to the first byte that means something else, and without the one before it, which may
// be repeated.
std::optional<std::string> regex_to_like(std::string_view regex) {
  if (!regex.starts_with('^') || regex.find('|') != std::string_view::npos) return std::nullopt;
  regex.remove_prefix(1);
  const size_t size = regex.find_first_of(".[](){}*+?^$\\");
  std::string_view literal = regex.substr(0, size);
  if (size != std::string_view::npos && std::string_view("*?{").find(regex[size]) != std::string_view::npos && !literal.empty())
    literal.remove_suffix(1);
  std::string like;
  for (const char byte : literal) append_like(like, byte);
  return like + "%";
}

struct Condition {
  const char *op = "";
  std::string value;
};

// Nothing: only the pattern itself can say.
std::optional<Condition> condition_of(std::string_view pattern) {
  const bool negated = pattern.starts_with('!');
  if (negated) pattern.remove_prefix(1);
  const auto matcher = io::Matcher::parse(pattern);
  if (!matcher || matcher.value().negated()) return std::nullopt;
  if (matcher.value().exact()) return Condition{negated ? " != " : " = ", matcher.value().exact_text()};
  if (pattern.starts_with('~')) {
    const auto like = negated ? std::nullopt : regex_to_like(pattern.substr(1));
    return like ? std::optional(Condition{" LIKE ", *like}) : std::nullopt;
  }
  if (negated && pattern.find_first_of("?[") != std::string_view::npos) return std::nullopt;
  return Condition{negated ? " NOT LIKE " : " LIKE ", glob_to_like(pattern)};
}

struct Conditions {
  Sql wanted, unwanted;  // joined by OR; by AND
  bool any_required = false, any_unwanted = false;
};

// Adds the patterns that SQL can express; a wanted pattern that it cannot express makes all wanted ones useless.
Conditions conditions_of(const Sql &column, const std::vector<std::string> &patterns) {
  Conditions all;
  size_t size = 0;
  bool is_expressible = true;
  for (const std::string &pattern : patterns) {
    const auto condition = condition_of(pattern);
    const bool negated = pattern.starts_with('!');
    size += pattern.size();
    if (!condition) {
      is_expressible = is_expressible && negated;
      continue;
    }
    Sql &sql = negated ? all.unwanted : all.wanted;
    bool &any = negated ? all.any_unwanted : all.any_required;
    if (any) sql << (negated ? " AND " : " OR ");
    any = true;
    sql << column << condition->op;
    sql.bind(condition->value);
  }
  if (size > kMaxListLength) return {};
  if (!is_expressible) all.any_required = false;
  return all;
}

bool only_negated(const std::vector<std::string> &patterns) {
  return std::all_of(patterns.begin(), patterns.end(), [](const std::string &pattern) { return pattern.starts_with('!'); });
}

Sql tag_conditions(const TagFilter &filter) {
  Sql has("has(tags.key, ");
  has.bind(filter.key) << ")";
  Sql value("tags.value[indexOf(tags.key, ");
  value.bind(filter.key) << ")]";
  const Conditions conditions = conditions_of(value, filter.patterns);
  Sql sql;
  if (!only_negated(filter.patterns)) sql << " AND " << has;
  if (conditions.any_required) sql << " AND (" << conditions.wanted << ")";
  if (conditions.any_unwanted) sql << " AND (NOT " << has << " OR " << conditions.unwanted << ")";
  return sql;
}

int64_t day_of(int64_t time_ns) {
  return std::clamp<int64_t>(time_ns / kDayNs, 0, kDays - 1);
}

}  // namespace

Sql text_conditions(const Sql &column, const std::vector<std::string> &patterns) {
  const Conditions conditions = conditions_of(column, patterns);
  Sql sql;
  if (conditions.any_required) sql << " AND (" << conditions.wanted << ")";
  if (conditions.any_unwanted) sql << " AND " << conditions.unwanted;
  return sql;
}

Sql tag_conditions(const std::vector<TagFilter> &filters) {
  Sql sql;
  for (const TagFilter &filter : filters)
    if (!filter.patterns.empty()) sql << tag_conditions(filter);
  return sql;
}

Sql day_conditions(const Range &range) {
  Sql sql;
  if (range.from_ns > 0) sql << " AND day >= " << day_literal(day_of(range.from_ns)).c_str();
  sql << " AND day <= " << day_literal(day_of(range.to_ns)).c_str();
  return sql;
}

std::string day_literal(int64_t day) {
  using namespace std::chrono;
  const year_month_day date{sys_days{days{day}}};
  char text[32];
  (void)std::snprintf(text, sizeof(text), "'%04d-%02u-%02u'", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                      static_cast<unsigned>(date.day()));
  return text;
}

}  // namespace atalaya::store::clickhouse
