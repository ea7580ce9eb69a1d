// SPDX-License-Identifier: Apache-2.0
#include "core/cli/help/plugin_pages.h"

#include <algorithm>
#include <array>

#include "core/base/sample/batch.h"
#include "core/base/text/text.h"
#include "core/base/text/units.h"

namespace atalaya::core::cli {
namespace {

constexpr std::array kTypes = {"?", "bool", "int", "number", "string", "duration", "size", "enum", "list", "map", "record"};
constexpr std::array kMetricKinds = {"?", "gauge", "rate", "delta", "total"};
constexpr std::array kNeedTypes = {"?", "capability", "file", "kernel"};
constexpr int kMaxDepth = 8;

template <size_t N>
std::string word(const std::array<const char *, N> &words, uint32_t index) {
  return words[index < N ? index : 0];
}

std::string bound_text(const atalaya_param &param, double bound) {
  if (param.type == ATALAYA_DURATION) return format_duration(static_cast<int64_t>(bound));
  if (param.type == ATALAYA_SIZE) return format_size(static_cast<int64_t>(bound));
  return number_text(bound);
}

// A maximum that no value reaches (285 years, 7 EiB), or that is below the minimum, means no maximum.
bool has_maximum(const atalaya_param &param) {
  static constexpr double kNoMaximum = 9e18;
  return param.max >= param.min && param.max < kNoMaximum;
}

std::string allowed_values(const atalaya_param &param) {
  std::string text = text_of(param.allowed);
  if (param.type == ATALAYA_ENUM)
    for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.replace(at, 1, ", ");
  if ((param.flags & ATALAYA_BOUNDED) != 0)
    text = has_maximum(param) ? bound_text(param, param.min) + " to " + bound_text(param, param.max)
                              : "at least " + bound_text(param, param.min);
  const std::string unit = text_of(param.unit);
  return text + (text.empty() || unit.empty() ? "" : " ") + unit;
}

void add_parameters(Table &table, const Schema &schema, const std::string &prefix, int depth);

void add_parameter(Table &table, const atalaya_param &param, const std::string &path, int depth) {
  const Schema items{param.items, param.item_count, param.item_size};
  std::string type = word(kTypes, param.type);
  if ((param.type == ATALAYA_LIST || param.type == ATALAYA_MAP) && items.count() > 0)
    type += " of " + word(kTypes, items.at(0).type);
  const bool required = (param.flags & ATALAYA_REQUIRED) != 0;
  table.rows.push_back(
      {path, type, required ? "required" : text_of(param.default_text), allowed_values(param), text_of(param.summary)});
  if (depth == kMaxDepth || items.count() == 0) return;
  if (param.type == ATALAYA_RECORD) return add_parameters(table, items, path + ".", depth + 1);
  // The elements get a line only if it adds information.
  const atalaya_param item = items.at(0);
  const std::string element = path + (param.type == ATALAYA_LIST ? "[]" : ".*");
  if (item.type == ATALAYA_RECORD)
    add_parameters(table, {item.items, item.item_count, item.item_size}, element + ".", depth + 1);
  else if (item.item_count > 0 || !allowed_values(item).empty())
    add_parameter(table, item, element, depth + 1);
}

void add_parameters(Table &table, const Schema &schema, const std::string &prefix, int depth) {
  for (uint32_t i = 0; i < schema.count(); ++i) {
    const atalaya_param param = schema.at(i);
    add_parameter(table, param, prefix + text_of(param.name), depth);
  }
}

Table parameters_of(const atalaya_component &component, const Schema &common) {
  Table table{"Parameters", {"name", "type", "default", "values", "summary"}, {}};
  add_parameters(table, schema_of(component), "", 0);
  add_parameters(table, common, "", 0);
  return table;
}

Table needs_of(const atalaya_component &component) {
  Table table{"Needs", {"type", "name", "optional", "feature", "if missing"}, {}};
  const Strided<atalaya_need> needs(component.needs, component.need_count, component.need_size);
  for (uint32_t i = 0; i < needs.count(); ++i) {
    const atalaya_need need = needs.at(i);
    table.rows.push_back({word(kNeedTypes, need.type), text_of(need.name), need.optional != 0 ? "yes" : "no", text_of(need.feature),
                          text_of(need.reason)});
  }
  return table;
}

// "disk, host"; tags that may be dropped are in brackets.
std::string tags_of(const atalaya_metric &metric) {
  std::string text;
  const Strided<atalaya_metric_tag> tags(metric.tags, metric.tag_count, metric.tag_size);
  for (uint32_t i = 0; i < tags.count(); ++i) {
    const std::string key = text_of(tags.at(i).key);
    text += (i == 0 ? "" : ", ") + (tags.at(i).role == ATALAYA_TAG_EXTRA ? "(" + key + ")" : key);
  }
  return text;
}

Table metrics_of(const atalaya_component &component) {
  Table table{"Metrics", {"name", "unit", "kind", "decimals", "tags", "source", "summary"}, {}};
  const Strided<atalaya_metric> metrics(component.metrics, component.metric_count, component.metric_size);
  for (uint32_t i = 0; i < metrics.count(); ++i) {
    const atalaya_metric metric = metrics.at(i);
    table.rows.push_back({text_of(metric.name), text_of(metric.unit), word(kMetricKinds, metric.kind),
                          metric.decimals < 0 ? "count" : std::to_string(metric.decimals), tags_of(metric), text_of(metric.source),
                          text_of(metric.summary)});
  }
  return table;
}

}  // namespace

std::optional<PageFormat> page_format(std::string_view name) {
  if (name == "text") return PageFormat::text;
  if (name == "markdown") return PageFormat::markdown;
  if (name == "json") return PageFormat::json;
  return std::nullopt;
}

Page page_of(const Plugin &plugin, const atalaya_component &component, const Schema &common) {
  Page page{std::string(kind_name(component.kind)),
            text_of(component.name),
            std::string(plugin.name()),
            std::string(plugin.version()),
            plugin.path(),
            text_of(component.summary),
            {}};
  for (Table &table : std::array{parameters_of(component, common), needs_of(component), metrics_of(component)})
    if (!table.rows.empty()) page.tables.push_back(std::move(table));
  return page;
}

Table overview(const std::vector<Page> &pages) {
  Table table{"", {"kind", "name", "plugin", "version", "file", "summary"}, {}};
  for (const Page &page : pages) table.rows.push_back({page.kind, page.name, page.plugin, page.version, page.file, page.summary});
  return table;
}

}  // namespace atalaya::core::cli
