// SPDX-License-Identifier: Apache-2.0
#include "core/config/lua/written_nil.h"

#include <algorithm>
#include <cstdlib>

#include "core/base/text/text.h"

namespace atalaya::core {
namespace {

using Token = LuaToken;
using Tokens = LuaTokens;

// The first of the expression's environment variables that is not set; "" when all are.
std::string unset_variable(const Tokens &tokens, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    if (!is(tokens, i, "getenv")) continue;
    const size_t name = i + (is(tokens, i + 1, "(") ? 2 : 1);
    if (!is_string(tokens, name)) continue;
    const std::string variable(tokens[name].text);
    if (std::getenv(variable.c_str()) == nullptr) return variable;
  }
  return "";
}

// The end of the expression at `at`: its comma, semicolon or closing brace.
size_t end_of_value(const Tokens &tokens, size_t at) {
  for (int depth = 0; at < tokens.size(); ++at) {
    const bool ends = is(tokens, at, "}") || is(tokens, at, ",") || is(tokens, at, ";");
    if (depth == 0 && ends) return at;
    depth += nesting(tokens[at]);
  }
  return at;
}

// The expression is one table constructor.
bool is_table(const Tokens &tokens, size_t begin, size_t end) {
  if (begin == end || !is(tokens, begin, "{")) return false;
  int depth = 1;
  size_t at = begin + 1;
  for (; at < end && depth > 0; ++at) depth += nesting(tokens[at]);
  return depth == 0 && at == end;
}

// The end of the statement `name = value`: the expression may have no end token, so it ends with its line.
size_t end_of_line(const Tokens &tokens, size_t at) {
  const int line = tokens[at].line;
  while (at < tokens.size() && tokens[at].line == line) ++at;
  return at;
}

std::string reason_of(const Tokens &tokens, size_t begin, size_t end) {
  std::string variable = unset_variable(tokens, begin, end);
  // A variable of the file: the line that set it last.
  if (variable.empty() && end == begin + 1)
    for (size_t i = begin; i-- > 0 && variable.empty();)
      if (is(tokens, i, tokens[begin].text) && is(tokens, i + 1, "=")) variable = unset_variable(tokens, i, end_of_line(tokens, i));
  if (!variable.empty())
    return "is nil: the environment variable " + variable + " is not set; set it, or write os.getenv(" + in_quotes(variable) +
           ") or a default";
  return "is nil; give it a value, or leave it out";
}

Value nil_because(std::string reason) {
  Value value;
  value.string = std::move(reason);
  return value;
}

void compare(const Tokens &tokens, size_t at, Value &table);

// `key = value`, the value between two tokens.
void compare_member(const Tokens &tokens, std::string_view key, size_t begin, size_t end, Value &table) {
  const auto member = std::find_if(table.map.begin(), table.map.end(), [&](const auto &item) { return item.first == key; });
  if (member == table.map.end())
    table.map.emplace_back(key, nil_because(reason_of(tokens, begin, end)));
  else if (is_table(tokens, begin, end) && member->second.type == Value::Type::table)
    compare(tokens, begin, member->second);
}

// An element of the list part. A call at the end may return nothing on purpose; os.getenv returns one value.
void compare_element(const Tokens &tokens, size_t index, size_t begin, size_t end, Value &table) {
  if (index >= table.list.size()) {
    if (!unset_variable(tokens, begin, end).empty()) table.list.push_back(nil_because(reason_of(tokens, begin, end)));
  } else if (is_table(tokens, begin, end) && table.list[index].type == Value::Type::table) {
    compare(tokens, begin, table.list[index]);
  }
}

// Compares the table constructor that opens at `at` with its value.
void compare(const Tokens &tokens, size_t at, Value &table) {
  size_t elements = 0;
  while (at + 1 < tokens.size() && !is(tokens, at, "}") && !is(tokens, at + 1, "}")) {
    ++at;
    const bool named = tokens[at].type == Token::Type::name && is(tokens, at + 1, "=") && !is(tokens, at + 2, "=");
    const bool quoted = is(tokens, at, "[") && is_string(tokens, at + 1) && is(tokens, at + 2, "]") && is(tokens, at + 3, "=");
    const size_t begin = at + (named ? 2 : quoted ? 4 : 0);
    const size_t end = end_of_value(tokens, begin);
    if (named || quoted)
      compare_member(tokens, tokens[quoted ? at + 1 : at].text, begin, end, table);
    else if (!is(tokens, at, "["))  // a computed key
      compare_element(tokens, elements++, begin, end, table);
    at = end;
  }
  std::sort(table.map.begin(), table.map.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
}

// The brace of `constructor {` or `constructor ({` in a line; the only call with a table there when it has another name. The size
// of `tokens` when there is none or more than one.
size_t table_of_call(const Tokens &tokens, std::string_view constructor, int line) {
  const auto first = std::lower_bound(tokens.begin(), tokens.end(), line, [](const Token &t, int l) { return t.line < l; });
  std::vector<size_t> named, others;
  for (auto i = static_cast<size_t>(first - tokens.begin()); i < tokens.size() && tokens[i].line == line; ++i) {
    if (i == 0 || !is(tokens, i, "{")) continue;
    const size_t callee = i - (is(tokens, i - 1, "(") && i > 1 ? 2 : 1);
    if (tokens[callee].type != Token::Type::name) continue;
    (tokens[callee].text == constructor ? named : others).push_back(i);
  }
  if (named.size() == 1) return named.front();
  return named.empty() && others.size() == 1 ? others.front() : tokens.size();
}

}  // namespace

const LuaTokens &WrittenNil::tokens_of(const std::string &file) {
  const auto known = tokens_.find(file);
  if (known != tokens_.end()) return known->second;
  const auto text = texts_.find(file);
  return tokens_.emplace(file, text == texts_.end() ? Tokens() : lua_tokens(text->second)).first->second;
}

void WrittenNil::add_to(Value &parameters, std::string_view constructor, const Location &where) {
  if (parameters.type != Value::Type::table) return;
  const Tokens &tokens = tokens_of(where.file);
  if (const size_t brace = table_of_call(tokens, constructor, where.line); brace < tokens.size())
    compare(tokens, brace, parameters);
}

}  // namespace atalaya::core
