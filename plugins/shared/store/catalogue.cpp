// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/catalogue.h"

#include <array>

#include "plugins/shared/store/identity.h"

namespace atalaya::store {
namespace {

constexpr std::array<std::string_view, 5> kTexts = {"", "gauge", "rate", "delta", "total"};
static_assert(ATALAYA_GAUGE == 1 && ATALAYA_RATE == 2 && ATALAYA_DELTA == 3 && ATALAYA_TOTAL == 4);

std::string description_of(const MetricInfo &info) {
  std::string text(text_of(info.kind));
  text += " in \"" + info.unit + "\"";
  return info.decimals < 0 ? text : text + " with " + std::to_string(info.decimals) + " decimals";
}

}  // namespace

std::string_view text_of(Kind kind) {
  const auto place = static_cast<size_t>(kind);
  return place < kTexts.size() ? kTexts[place] : "";
}

Kind kind_of(std::string_view text) {
  for (size_t i = 1; i < kTexts.size(); ++i)
    if (text == kTexts[i]) return static_cast<Kind>(i);
  return Kind::unknown;
}

MetricInfo stored_form(const atalaya::MetricInfo &declared) {
  const bool is_known = declared.kind >= ATALAYA_GAUGE && declared.kind <= ATALAYA_TOTAL;
  std::string unit_scratch, summary_scratch;
  return {is_known ? static_cast<Kind>(declared.kind) : Kind::unknown, declared.decimals,
          std::string(valid_utf8(declared.unit, unit_scratch)), std::string(valid_utf8(declared.summary, summary_scratch))};
}

bool is_conflict(const MetricInfo &first, const MetricInfo &second) {
  if (first.kind == Kind::unknown || second.kind == Kind::unknown) return false;
  return first.kind != second.kind || first.unit != second.unit || first.decimals != second.decimals;
}

std::string conflict_text(std::string_view metric, const MetricInfo &first, const MetricInfo &second) {
  return "metric " + std::string(metric) + " is stored as " + description_of(first) + " and is now declared as " +
         description_of(second) + "; the store keeps the first declaration";
}

}  // namespace atalaya::store
