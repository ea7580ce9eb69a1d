// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/describe/parameters.h"

#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "core/base/sample/batch.h"
#include "core/base/text/suggest.h"
#include "core/base/text/text.h"
#include "core/base/text/units.h"

namespace atalaya::core {
namespace {

constexpr double kInt64Limit = 9223372036854775808.0;  // 2^63

std::string string_of(atalaya_str text) {
  return text_of(text);
}

Schema items_of(const atalaya_param &param) {
  return {param.items, param.item_count, param.item_size};
}

bool is_secret_file(const atalaya_param &param) {
  return param.type == ATALAYA_STRING && view_of(param.unit) == kSecretFile;
}

// The operator's value, for "got ...".
std::string shown(const Value &value) {
  switch (value.type) {
    case Value::Type::nil:
      return "nil";
    case Value::Type::boolean:
      return value.boolean ? "true (boolean)" : "false (boolean)";
    case Value::Type::integer:
      return std::to_string(value.integer) + " (number)";
    case Value::Type::number:
      return number_text(value.number) + " (number)";
    case Value::Type::string:
      return in_quotes(value.string) + " (string)";
    case Value::Type::table:
      return "a table";
    case Value::Type::function:
      return "a function";
  }
  return "something unknown";
}

std::vector<std::string> words_of(const atalaya_param &param) {
  std::vector<std::string> words;
  for (std::string_view rest = view_of(param.allowed); !rest.empty();) words.emplace_back(cut_at(rest, '|'));
  return words;
}

std::string type_text(const atalaya_param &param) {
  switch (param.type) {
    case ATALAYA_BOOL:
      return "true or false";
    case ATALAYA_INT:
      return "a whole number";
    case ATALAYA_NUMBER:
      return "a number";
    case ATALAYA_STRING:
      return is_file(param) ? "the path of a file" : "a string";
    case ATALAYA_DURATION:
      return "a duration such as \"5s\"";
    case ATALAYA_SIZE:
      return "a size such as \"64 MiB\"";
    case ATALAYA_ENUM:
      return "one of " + joined(words_of(param));
    case ATALAYA_LIST:
      return "a list";
    case ATALAYA_MAP:
      return "a table of name = value";
    case ATALAYA_RECORD:
      return "a table";
    default:
      return "nothing that this atalaya knows (parameter type " + std::to_string(param.type) + ")";
  }
}

// " (seconds, default 10)", or "".
std::string hints(const atalaya_param &param, bool with_unit) {
  std::vector<std::string> notes;
  if (with_unit && param.unit.size > 0 && !is_file(param)) notes.push_back(string_of(param.unit));
  if (param.default_text.size > 0) notes.push_back("default " + string_of(param.default_text));
  return notes.empty() ? "" : " (" + joined(notes) + ")";
}

std::string in_unit(const atalaya_param &param, double number) {
  const bool fits = std::fabs(number) < kInt64Limit;
  if (param.type == ATALAYA_DURATION && fits) return format_duration(static_cast<int64_t>(number));
  if (param.type == ATALAYA_SIZE && fits) return format_size(static_cast<int64_t>(number));
  return number_text(number);
}

std::string range_text(const atalaya_param &param) {
  std::string text;
  if (param.max < param.min || param.max >= kInt64Limit) {
    text = "at least " + in_unit(param, param.min);
  } else if (param.max == param.min) {
    text = "only " + in_unit(param, param.min);
  } else {
    text = in_unit(param, param.min) + " to " + in_unit(param, param.max);
  }
  return text + (param.unit.size > 0 ? " " + string_of(param.unit) : "") + hints(param, false);
}

std::string child_path(const std::string &path, const std::string &name) {
  return path.empty() ? name : path + "." + name;
}

const Value *member(const Value &table, std::string_view name) {
  for (const auto &[key, value] : table.map)
    if (key == name) return &value;
  return nullptr;
}

// Checks one value; its problems go to the list.
class Resolver {
 public:
  explicit Resolver(std::vector<Problem> &problems) : problems_(problems) {}

  std::optional<Parameter> value(const atalaya_param &param, const Value &written, const std::string &path) {
    if (written.type == Value::Type::nil) {
      if (!written.string.empty()) say(path, written.string);  // otherwise it is already reported
      return std::nullopt;
    }
    switch (param.type) {
      case ATALAYA_BOOL:
        if (written.type == Value::Type::boolean) return scalar(param, written.boolean ? 1 : 0);
        break;
      case ATALAYA_INT:
        return whole(param, written, path);
      case ATALAYA_NUMBER:
        return number(param, written, path);
      case ATALAYA_STRING:
        return string(param, written, path);
      case ATALAYA_DURATION:
      case ATALAYA_SIZE:
        return with_unit(param, written, path);
      case ATALAYA_ENUM:
        return word(param, written, path);
      case ATALAYA_LIST:
        return list(param, written, path);
      case ATALAYA_MAP:
        return map(param, written, path);
      case ATALAYA_RECORD:
        if (written.type == Value::Type::table) return record(items_of(param), written, path);
        break;
      default:
        break;
    }
    return unexpected(param, written, path);
  }

  Parameter record(const Schema &schema, const Value &written, const std::string &path) {
    Parameter result;
    result.type = ATALAYA_RECORD;
    if (!written.list.empty())
      say(path, "unexpected value " + shown(written.list.front()) + "; parameters are written name = value");
    std::optional<atalaya_param> wildcard;
    std::vector<std::string> known;
    for (uint32_t i = 0; i < schema.count(); ++i) {
      const atalaya_param param = schema.at(i);
      const std::string name = string_of(param.name);
      if (name == "*") {
        wildcard = param;
        continue;
      }
      known.push_back(name);
      if (auto child = named(param, member(written, name), child_path(path, name), path)) {
        child->key = name;
        result.children.push_back(std::move(*child));
      }
    }
    for (const auto &[name, value] : written.map)
      if (std::find(known.begin(), known.end(), name) == known.end()) other(wildcard, name, value, path, known, result);
    return result;
  }

 private:
  void say(const std::string &path, std::string text) { problems_.push_back({path, std::move(text)}); }

  std::optional<Parameter> unexpected(const atalaya_param &param, const Value &written, const std::string &path) {
    say(path, "expected " + type_text(param) + hints(param, true) + (is_secret_file(param) ? "" : ", got " + shown(written)));
    return std::nullopt;
  }

  // Resolves a parameter of the schema: the written value, its default, or nothing.
  std::optional<Parameter> named(const atalaya_param &param, const Value *written, const std::string &path,
                                 const std::string &parent) {
    if (written != nullptr) return value(param, *written, path);
    if (param.default_text.size > 0) return value(param, value_from_text(param, view_of(param.default_text)), path);
    if ((param.flags & ATALAYA_REQUIRED) != 0)
      say(parent, "required parameter " + in_quotes(view_of(param.name)) + " is missing: " + type_text(param) + hints(param, true));
    return std::nullopt;
  }

  // Resolves a key that is not in the schema: it belongs to a wildcard, or is a mistake.
  void other(const std::optional<atalaya_param> &wildcard, const std::string &name, const Value &written, const std::string &path,
             const std::vector<std::string> &known, Parameter &result) {
    const std::string glob = wildcard ? string_of(wildcard->allowed) : "";
    if (!wildcard || (!glob.empty() && ::fnmatch(glob.c_str(), name.c_str(), 0) != 0)) {
      std::string text = "unknown parameter " + in_quotes(name) + did_you_mean(name, known);
      if (wildcard) text += "; other names have the form " + glob;
      say(path, std::move(text));
      return;
    }
    if (auto child = value(*wildcard, written, child_path(path, name))) {
      child->key = name;
      result.children.push_back(std::move(*child));
    }
  }

  static Parameter scalar(const atalaya_param &param, int64_t value) {
    Parameter result;
    result.type = param.type;
    result.i64 = value;
    return result;
  }
  static Parameter text(const atalaya_param &param, const std::string &value) {
    Parameter result;
    result.type = param.type;
    result.text = value;
    return result;
  }

  std::optional<Parameter> string(const atalaya_param &param, const Value &written, const std::string &path) {
    if (written.type != Value::Type::string) return unexpected(param, written, path);
    if (written.string.empty() && is_file(param)) {
      say(path, "is empty; name a file, or leave it out");
      return std::nullopt;
    }
    return text(param, written.string);
  }

  bool in_range(const atalaya_param &param, double value, const std::string &path) {
    if ((param.flags & ATALAYA_BOUNDED) == 0) return true;
    if (value >= param.min && (value <= param.max || param.max < param.min)) return true;
    say(path, in_unit(param, value) + " is out of range, " + range_text(param));
    return false;
  }

  std::optional<Parameter> whole(const atalaya_param &param, const Value &written, const std::string &path) {
    int64_t value = written.integer;
    if (written.type == Value::Type::number && written.number == std::floor(written.number) && written.number >= -kInt64Limit &&
        written.number < kInt64Limit) {
      value = static_cast<int64_t>(written.number);
    } else if (written.type != Value::Type::integer) {
      return unexpected(param, written, path);
    }
    if (!in_range(param, static_cast<double>(value), path)) return std::nullopt;
    return scalar(param, value);
  }

  std::optional<Parameter> number(const atalaya_param &param, const Value &written, const std::string &path) {
    Parameter result;
    result.type = param.type;
    if (written.type == Value::Type::integer) {
      result.f64 = static_cast<double>(written.integer);
    } else if (written.type == Value::Type::number && std::isfinite(written.number)) {
      result.f64 = written.number;
    } else {
      return unexpected(param, written, path);
    }
    if (!in_range(param, result.f64, path)) return std::nullopt;
    return result;
  }

  std::optional<Parameter> with_unit(const atalaya_param &param, const Value &written, const std::string &path) {
    if (written.type != Value::Type::string) return unexpected(param, written, path);
    const auto parsed = param.type == ATALAYA_SIZE ? parse_size(written.string) : parse_duration(written.string);
    if (!parsed) {
      say(path, parsed.error() + hints(param, false));
      return std::nullopt;
    }
    if (!in_range(param, static_cast<double>(parsed.value()), path)) return std::nullopt;
    return scalar(param, parsed.value());
  }

  std::optional<Parameter> word(const atalaya_param &param, const Value &written, const std::string &path) {
    if (written.type != Value::Type::string) return unexpected(param, written, path);
    const auto words = words_of(param);
    if (std::find(words.begin(), words.end(), written.string) != words.end()) return text(param, written.string);
    say(path, in_quotes(written.string) + " is not one of " + joined(words));
    return std::nullopt;
  }

  std::optional<Parameter> list(const atalaya_param &param, const Value &written, const std::string &path) {
    const Schema items = items_of(param);
    if (written.type == Value::Type::string && items.count() > 0 && items.at(0).type == ATALAYA_STRING) {
      // A single pattern, tag or path needs no braces.
      Value alone;
      alone.type = Value::Type::table;
      alone.list.push_back(written);
      return list(param, alone, path);
    }
    if (written.type != Value::Type::table || !written.map.empty()) return unexpected(param, written, path);
    Parameter result;
    result.type = param.type;
    for (size_t i = 0; items.count() > 0 && i < written.list.size(); ++i)
      if (auto child = value(items.at(0), written.list[i], path + "[" + std::to_string(i + 1) + "]"))
        result.children.push_back(std::move(*child));
    if (!in_range(param, static_cast<double>(written.list.size()), path)) return std::nullopt;
    return result;
  }

  std::optional<Parameter> map(const atalaya_param &param, const Value &written, const std::string &path) {
    if (written.type != Value::Type::table || !written.list.empty()) return unexpected(param, written, path);
    Parameter result;
    result.type = param.type;
    const Schema items = items_of(param);
    for (const auto &[key, item] : written.map) {
      if (items.count() == 0) break;
      if (auto child = value(items.at(0), item, child_path(path, key))) {
        child->key = key;
        result.children.push_back(std::move(*child));
      }
    }
    return result;
  }

  std::vector<Problem> &problems_;
};

// The parameter at the rest of a path. Keys may hold dots ("proc.cpu.user"), so every child that fits is tried.
const Parameter *find_in(const Parameter &parameter, std::string_view path) {
  if (path.empty()) return &parameter;
  if (path.front() == '[') {
    size_t index = 0;
    const auto [end, error] = std::from_chars(path.data() + 1, path.data() + path.size(), index);
    if (error != std::errc() || end == path.data() + path.size() || *end != ']') return nullptr;
    if (parameter.type != ATALAYA_LIST || index >= parameter.children.size()) return nullptr;
    path.remove_prefix(static_cast<size_t>(end + 1 - path.data()));
    if (!path.empty() && path.front() == '.') path.remove_prefix(1);
    return find_in(parameter.children[index], path);
  }
  for (const auto &child : parameter.children) {
    if (child.key.empty() || path.substr(0, child.key.size()) != child.key) continue;
    std::string_view rest = path.substr(child.key.size());
    if (!rest.empty() && rest.front() != '.' && rest.front() != '[') continue;
    if (!rest.empty() && rest.front() == '.') rest.remove_prefix(1);
    if (const Parameter *found = find_in(child, rest)) return found;
  }
  return nullptr;
}

Value string_value(std::string_view text) {
  Value value;
  value.type = Value::Type::string;
  value.string = text;
  return value;
}

// The parts between commas; none of an empty text.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) parts.push_back(cut_at(text, ','));
  return parts;
}

// The schema of a member of a map or record. A member without a schema is regarded as a string, so that resolve reports the error.
atalaya_param item_named(const atalaya_param &param, std::string_view name) {
  const Schema items = items_of(param);
  for (uint32_t i = 0; i < items.count(); ++i)
    if (param.type != ATALAYA_RECORD || view_of(items.at(i).name) == name) return items.at(i);
  atalaya_param text{};
  text.type = ATALAYA_STRING;
  return text;
}

}  // namespace

bool is_file(const atalaya_param &param) {
  const std::string_view unit = view_of(param.unit);
  return param.type == ATALAYA_STRING && (unit == kOutputFile || unit == kInputFile || unit == kSecretFile);
}

Parameters Parameters::resolve(const Schema &schema, const Value &written, std::vector<Problem> &problems) {
  static const Value nothing;
  const bool usable = written.type == Value::Type::table || written.type == Value::Type::nil;
  if (!usable) problems.push_back({"", "expected a table of parameters, got " + shown(written)});
  Parameters result;
  result.root_ = Resolver(problems).record(schema, usable ? written : nothing, "");
  return result;
}

const Parameter *Parameters::find(std::string_view path) const {
  return find_in(root_, path);
}

Value value_from_text(const atalaya_param &param, std::string_view text) {
  Value value = string_value(text);
  switch (param.type) {
    case ATALAYA_BOOL:
      if (text != "true" && text != "false") break;
      value.type = Value::Type::boolean;
      value.boolean = text == "true";
      break;
    case ATALAYA_INT:
    case ATALAYA_NUMBER:
      if (const auto integer = number_from<int64_t>(text)) {
        value.type = Value::Type::integer;
        value.integer = *integer;
      } else if (const auto number = number_from<double>(text)) {
        value.type = Value::Type::number;
        value.number = *number;
      }
      break;
    case ATALAYA_LIST:
      value.type = Value::Type::table;
      for (const auto part : parts_of(text)) value.list.push_back(value_from_text(item_named(param, ""), part));
      break;
    case ATALAYA_MAP:
    case ATALAYA_RECORD:
      value.type = Value::Type::table;
      for (const auto part : parts_of(text)) {
        const size_t equals = std::min(part.find('='), part.size());
        const auto name = part.substr(0, equals);
        value.map.emplace_back(name, value_from_text(item_named(param, name), part.substr(std::min(equals + 1, part.size()))));
      }
      std::sort(value.map.begin(), value.map.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
      break;
    default:
      break;
  }
  if (value.type != Value::Type::string) value.string.clear();
  return value;
}

}  // namespace atalaya::core
