// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/units/unit_text.h"

namespace atalaya::io {
namespace {

constexpr std::string_view kPerSecond = "/s";

// Removes a binary or decimal prefix of a byte, if there is one.
bool is_bytes(std::string_view term) {
  if (!term.ends_with("By")) return false;
  term.remove_suffix(2);
  for (const std::string_view prefix : {"", "Ki", "Mi", "Gi", "Ti", "k", "M", "G", "T"})
    if (term == prefix) return true;
  return false;
}

// Converts a unit without operators: "%{core}", "MiBy", "{sample}".
std::string shown_term(std::string_view term) {
  const size_t open = term.find('{'), close = term.find('}');
  if (open == 0 && close == term.size() - 1) return std::string(term.substr(1, close - 1));
  if (open != std::string_view::npos) term = term.substr(0, open);
  if (term == "1") return "";
  if (term == "Cel") return "°C";
  if (term == "us") return "µs";
  if (is_bytes(term)) return std::string(term.substr(0, term.size() - 1));
  return std::string(term);
}

}  // namespace

std::string shown_unit(std::string_view unit) {
  std::string shown;
  size_t begin = 0;
  bool in_braces = false;
  for (size_t i = 0; i <= unit.size(); ++i) {
    if (i < unit.size()) {
      if (unit[i] == '{') in_braces = true;
      if (unit[i] == '}') in_braces = false;
      if (in_braces || (unit[i] != '/' && unit[i] != '.')) continue;
    }
    shown += shown_term(unit.substr(begin, i - begin));
    if (i < unit.size()) shown += unit[i] == '.' ? "·" : "/";
    begin = i + 1;
  }
  return shown;
}

std::string per_second(std::string_view unit) {
  if (unit.empty()) return "";
  return std::string(unit == "1" ? "" : unit) + std::string(kPerSecond);
}

std::string without_per_second(std::string_view unit) {
  if (!unit.ends_with(kPerSecond)) return "";
  unit.remove_suffix(kPerSecond.size());
  return unit.empty() ? "1" : std::string(unit);
}

}  // namespace atalaya::io
