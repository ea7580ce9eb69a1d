// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/base/sample/batch.h"
#include "core/base/text/units.h"
#include "core/plugin/verify/verify.h"

namespace atalaya::core {
namespace {

Value text_value(std::string text) {
  Value value;
  value.type = Value::Type::string;
  value.string = std::move(text);
  return value;
}

Value integer_value(int64_t integer) {
  Value value;
  value.type = Value::Type::integer;
  value.integer = integer;
  return value;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

bool names_a_file(const atalaya_param &param) {
  return param.type == ATALAYA_STRING && ends_with(view_of(param.name), "path");
}
bool names_a_folder(const atalaya_param &param) {
  return param.type == ATALAYA_STRING && ends_with(view_of(param.name), "dir");
}

// The default address with a port that the kernel chooses: another program may have the default port. Empty: not an address.
std::string free_address(const atalaya_param &param) {
  const std::string_view address = view_of(param.default_text);
  const size_t colon = address.rfind(':');
  if (param.type != ATALAYA_STRING || colon == std::string_view::npos || colon + 1 == address.size()) return {};
  if (address.find_first_not_of("0123456789", colon + 1) != std::string_view::npos) return {};
  return std::string(address.substr(0, colon + 1)) + '0';
}

// A key that a glob lets through.
std::string matching_key(std::string_view glob) {
  std::string key;
  for (const char c : glob) key += c == '*' ? "sample" : std::string(1, c == '?' ? 'x' : c);
  return key.empty() ? "sample" : key;
}

Value table_of(const Schema &schema, const std::string &folder, bool everything);

Value sample_of(const atalaya_param &param, const std::string &folder, bool everything) {
  const Schema items{param.items, param.item_count, param.item_size};
  const double low = (param.flags & ATALAYA_BOUNDED) != 0 ? param.min : 1;
  Value value;
  switch (param.type) {
    case ATALAYA_BOOL:
      value.type = Value::Type::boolean;
      break;
    case ATALAYA_INT:
      return integer_value(static_cast<int64_t>(low));
    case ATALAYA_NUMBER:
      value.type = Value::Type::number;
      value.number = low;
      break;
    case ATALAYA_DURATION:
      return text_value(format_duration(std::max(static_cast<int64_t>(low), int64_t{1000000000})));
    case ATALAYA_SIZE:
      return text_value(format_size(std::max(static_cast<int64_t>(low), int64_t{1} << 20)));
    case ATALAYA_ENUM:
      return text_value(std::string(view_of(param.allowed).substr(0, view_of(param.allowed).find('|'))));
    case ATALAYA_STRING:
      if (std::string address = free_address(param); !address.empty()) return text_value(std::move(address));
      return text_value(names_a_file(param) ? folder + "/file" : names_a_folder(param) ? folder : "sample");
    case ATALAYA_RECORD:
      return table_of(items, folder, everything);
    default:
      value.type = Value::Type::table;
      if (items.count() == 0) break;
      if (param.type == ATALAYA_LIST) value.list.push_back(sample_of(items.at(0), folder, everything));
      if (param.type == ATALAYA_MAP) value.map.emplace_back("sample", sample_of(items.at(0), folder, everything));
  }
  return value;
}

Value table_of(const Schema &schema, const std::string &folder, bool everything) {
  Value table;
  table.type = Value::Type::table;
  for (uint32_t i = 0; i < schema.count(); ++i) {
    const atalaya_param param = schema.at(i);
    const bool free_key = view_of(param.name) == "*";
    // Nothing of a run on this machine may write to where the agent keeps its data by default.
    const bool place = names_a_file(param) || names_a_folder(param);
    const bool wanted = everything || free_key || place || !free_address(param).empty() || (param.flags & ATALAYA_REQUIRED) != 0;
    if (!wanted) continue;
    const std::string key = free_key ? matching_key(view_of(param.allowed)) : text_of(param.name);
    table.map.emplace_back(key, sample_of(param, folder, everything));
  }
  std::sort(table.map.begin(), table.map.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  return table;
}

}  // namespace

Value sample_parameters(const atalaya_component &component, const std::string &folder, bool everything) {
  return table_of(schema_of(component), folder, everything);
}

}  // namespace atalaya::core
