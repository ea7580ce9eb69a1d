// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/prometheus/negotiation.h"

#include <strings.h>

#include <algorithm>
#include <charconv>

#include "core/base/text/text.h"

namespace atalaya::prometheus {
namespace {

bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

// Returns the text up to the separator, and removes both from `rest`.
std::string_view cut(std::string_view &rest, char separator) {
  return core::trimmed(core::cut_at(rest, separator));
}

// An element of the list in a header: "text/plain;version=0.0.4;q=0.5".
struct Range {
  std::string_view name, version;
  double quality = 1;
};

double quality_of(std::string_view text) {
  const double value = core::number_from<double>(text, std::chars_format::fixed).value_or(0);
  return value >= 0 && value <= 1 ? value : 0;
}

Range range_of(std::string_view text) {
  Range range;
  range.name = cut(text, ';');
  while (!text.empty()) {
    std::string_view value = cut(text, ';');
    const std::string_view key = cut(value, '=');
    value = core::trimmed(value);
    if (value.size() >= 2 && value.starts_with('"') && value.ends_with('"')) value = value.substr(1, value.size() - 2);
    if (same(key, "version")) range.version = value;
    if (same(key, "q")) range.quality = quality_of(value);
  }
  return range;
}

}  // namespace

Form negotiate_form(std::string_view accept) {
  double text = 0;
  double openmetrics = 0;
  while (!accept.empty()) {
    const Range range = range_of(cut(accept, ','));
    const auto is = [&](std::string_view name, std::string_view version) {
      return same(range.name, name) && (range.version.empty() || range.version == version);
    };
    if (is("application/openmetrics-text", "1.0.0")) openmetrics = std::max(openmetrics, range.quality);
    if (is("text/plain", "0.0.4")) text = std::max(text, range.quality);
  }
  return openmetrics > 0 && openmetrics >= text ? Form::openmetrics : Form::text;
}

bool takes_gzip(std::string_view accept_encoding) {
  double any = 0;
  while (!accept_encoding.empty()) {
    const Range range = range_of(cut(accept_encoding, ','));
    if (same(range.name, "gzip")) return range.quality > 0;
    if (range.name == "*") any = range.quality;
  }
  return any > 0;
}

}  // namespace atalaya::prometheus
