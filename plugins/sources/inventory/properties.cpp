// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/inventory/properties.h"

#include <map>
#include <utility>

#include "core/base/text/text.h"
#include "plugins/shared/host/procfs/files.h"

namespace atalaya::inventory {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\f' || c == '\r';
}

std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  return text;
}

std::string_view unquoted(std::string_view value) {
  const bool quoted = value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front();
  return quoted ? value.substr(1, value.size() - 2) : value;
}

// An odd number of backslashes at the end continues the line.
bool is_continued(std::string_view line) {
  size_t backslashes = 0;
  while (backslashes < line.size() && line[line.size() - 1 - backslashes] == '\\') ++backslashes;
  return backslashes % 2 == 1;
}

std::string_view next_property_line(std::string_view &text) {
  std::string_view line = core::cut_at(text, '\n');
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return without_spaces(line);
}

std::string logical_line(std::string_view &text) {
  std::string_view part = next_property_line(text);
  std::string line;
  if (part.empty() || part.front() == '#' || part.front() == '!') return line;
  while (is_continued(part)) {
    line.append(part.substr(0, part.size() - 1));
    part = next_property_line(text);  // empty at the end
  }
  return line.append(part);
}

char meant(char c) {
  return c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c == 'f' ? '\f' : c;
}

// Reads up to a character for which `ends` is true, or to the end, and resolves backslashes.
template <class Ends>
std::string take(std::string_view &text, Ends ends) {
  std::string taken;
  while (!text.empty() && !ends(text.front())) {
    const bool escaped = text.front() == '\\' && text.size() > 1;
    if (escaped) text.remove_prefix(1);
    taken += escaped ? meant(text.front()) : text.front();
    text.remove_prefix(1);
  }
  return taken;
}

Property property_of(std::string_view line) {
  Property property;
  property.key = take(line, [](char c) { return is_space(c) || c == '=' || c == ':'; });
  line = without_spaces(line);
  if (!line.empty() && (line.front() == '=' || line.front() == ':')) line = without_spaces(line.substr(1));
  property.value = take(line, [](char) { return false; });
  return property;
}

}  // namespace

std::vector<Property> parse_assignments(std::string_view text) {
  std::vector<Property> found;
  while (!text.empty() && found.size() < kMaxProperties) {
    const std::string_view line = core::trimmed(core::cut_at(text, '\n'));
    const size_t equals = line.find('=');
    if (line.starts_with('#') || equals == std::string_view::npos || equals == 0) continue;
    found.push_back(
        {std::string(core::trimmed(line.substr(0, equals))), std::string(unquoted(core::trimmed(line.substr(equals + 1))))});
  }
  return found;
}

std::vector<Property> parse_java_properties(std::string_view text) {
  std::map<std::string, size_t> places;
  std::vector<Property> found;
  while (!text.empty()) {
    Property property = property_of(logical_line(text));
    if (property.key.empty()) continue;
    const auto known = places.find(property.key);
    if (known != places.end()) {
      found[known->second].value = std::move(property.value);
    } else if (found.size() < kMaxProperties) {
      places.emplace(property.key, found.size());
      found.push_back(std::move(property));
    }
  }
  return found;
}

}  // namespace atalaya::inventory
