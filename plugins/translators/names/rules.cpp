// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/names/rules.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/base/text/text.h"

namespace atalaya::names {
namespace {

bool is_jvm(std::string_view process) {
  return process == "java" || process == "jsvc";
}

// Finds the value of the option: the next word, or the text after its '='.
std::optional<std::string_view> option_value(const Words &arguments, std::string_view option) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word == option) return i + 1 < arguments.size() ? std::optional(arguments[i + 1]) : std::nullopt;
    if (word.size() > option.size() && word.starts_with(option) && word[option.size()] == '=')
      return word.substr(option.size() + 1);
  }
  return std::nullopt;
}

// The first matching argument of no option; the word after an option counts as its value.
std::optional<std::string_view> first_argument(const Words &arguments, const io::Matcher &pattern) {
  for (size_t i = 0; i < arguments.size(); ++i)
    if ((i == 0 || !arguments[i - 1].starts_with('-')) && pattern.matches(arguments[i])) return arguments[i];
  return std::nullopt;
}

bool proper(std::string_view text) {
  return !text.empty() && text.size() <= Rules::kMaxNameLength;
}

}  // namespace

core::Result<Rules> Rules::make(const std::vector<RuleText> &texts) {
  Rules rules;
  for (size_t i = 0; i < texts.size(); ++i)
    if (const core::Status added = rules.add(texts[i]); !added)
      return core::Error{"rule " + std::to_string(i + 1) + ": " + added.error()};
  return rules;
}

core::Status Rules::add(const RuleText &text) {
  if (text.main.empty() == text.interpreter.empty()) return core::Error{"set either \"main\", for JVMs, or \"interpreter\""};
  return text.main.empty() ? add_interpreter(text) : add_jvm(text);
}

core::Status Rules::add_interpreter(const RuleText &text) {
  auto names = io::MatcherList::parse(text.interpreter);
  if (!names) return core::Error{"interpreter: " + names.error()};
  const auto number = static_cast<uint16_t>(interpreters_.size());
  for (const std::string &pattern : text.interpreter) add_candidate(pattern, number);
  interpreters_.push_back({std::move(*names), text.options});
  return core::Done{};
}

void Rules::add_candidate(std::string_view pattern, uint16_t interpreter) {
  const bool open = pattern.starts_with('~') || pattern.starts_with('!');
  const std::string_view begin = open ? std::string_view() : pattern.substr(0, pattern.find_first_of("*?[\\"));
  const Candidate candidate{std::string(begin), begin.size() == pattern.size(), interpreter};
  if (!begin.empty()) {
    by_first_byte_[static_cast<unsigned char>(begin.front())].push_back(candidate);
    return;
  }
  for (auto &candidates : by_first_byte_) candidates.push_back(candidate);
}

core::Status Rules::add_jvm(const RuleText &text) {
  auto main = io::MatcherList::parse(text.main);
  if (!main) return core::Error{"main: " + main.error()};
  auto arguments = io::MatcherList::parse(text.arguments);
  if (!arguments) return core::Error{"arguments: " + arguments.error()};
  JvmRule rule{std::move(*main), std::move(*arguments), text.option, {}, {}, {}};
  for (const auto &[name, pattern] : text.argument) {
    auto matcher = io::Matcher::parse(pattern);
    if (!matcher) return core::Error{"argument." + name + ": " + matcher.error()};
    rule.argument.push_back({name, std::move(*matcher)});
  }
  auto name = parse_template(text, text.name);
  if (!name) return core::Error{"name: " + name.error()};
  rule.name = std::move(*name);
  if (const core::Status added = add_tags(text, rule); !added) return added;
  jvm_rules_.push_back(std::move(rule));
  return core::Done{};
}

core::Status Rules::add_tags(const RuleText &text, JvmRule &rule) {
  for (const std::string &tag : text.inherit)
    if (!text.tags.contains(tag)) return core::Error{"inherit: " + core::in_quotes(tag) + " is not in \"tags\" of the rule"};
  any_inherited_ = any_inherited_ || !text.inherit.empty();
  for (const auto &[tag, value] : text.tags) {
    auto pieces = parse_template(text, value);
    if (!pieces) return core::Error{"tags." + tag + ": " + pieces.error()};
    const bool inherited = std::find(text.inherit.begin(), text.inherit.end(), tag) != text.inherit.end();
    rule.tags.push_back({tag_number(tag), std::move(*pieces), inherited});
  }
  return core::Done{};
}

uint32_t Rules::tag_number(const std::string &tag) {
  const auto found = std::find(tags_.begin(), tags_.end(), tag);
  if (found != tags_.end()) return static_cast<uint32_t>(found - tags_.begin());
  tags_.push_back(tag);
  return static_cast<uint32_t>(tags_.size() - 1);
}

core::Result<Rules::Template> Rules::parse_template(const RuleText &rule, std::string_view text) {
  Template pieces;
  while (!text.empty()) {
    const size_t begin = text.find('{');
    const size_t end = text.find('}', begin);
    if (begin != std::string_view::npos && end == std::string_view::npos)
      return core::Error{core::in_quotes(text) + " has a { without a }"};
    Piece piece;
    if (begin != std::string_view::npos) {
      auto value = parse_value(rule, text.substr(begin + 1, end - begin - 1));
      if (!value) return core::Error{value.error()};
      piece = std::move(*value);
    }
    piece.text = text.substr(0, begin);
    text.remove_prefix(begin == std::string_view::npos ? text.size() : end + 1);
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

core::Result<Rules::Piece> Rules::parse_value(const RuleText &rule, std::string_view text) {
  Piece piece;
  if (text.ends_with(":last")) piece.part = Piece::Part::last;
  if (text.ends_with(":file")) piece.part = Piece::Part::file;
  if (piece.part != Piece::Part::whole) text.remove_suffix(5);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), piece.position);
  if (error == std::errc() && end == text.data() + text.size() && piece.position > 0) return piece;
  piece.position = 0;
  piece.value = text;
  if (rule.option.count(piece.value) + rule.argument.count(piece.value) == 0)
    return core::Error{"unknown value " + core::in_quotes(text) +
                       "; name it in \"option\" or \"argument\", or write the number of an argument"};
  return piece;
}

Rules::Kind Rules::kind_of(std::string_view process) const {
  if (is_jvm(process)) return Kind::jvm;
  return interpreter_named(process) != nullptr ? Kind::interpreter : Kind::other;
}

const Rules::Interpreter *Rules::interpreter_named(std::string_view name) const {
  if (name.empty()) return nullptr;
  for (const Candidate &candidate : by_first_byte_[static_cast<unsigned char>(name.front())]) {
    if (candidate.whole ? name != candidate.begin : !name.starts_with(candidate.begin)) continue;
    if (interpreters_[candidate.interpreter].names.matches(name)) return &interpreters_[candidate.interpreter];
  }
  return nullptr;
}

Naming Rules::name_jvm(const JavaProgram &program) const {
  for (const JvmRule &rule : jvm_rules_)
    if (auto naming = apply(rule, program)) return std::move(*naming);
  const std::string_view name = program.short_name();
  return {proper(name) ? std::string(name) : std::string(), {}};
}

std::optional<Naming> Rules::apply(const JvmRule &rule, const JavaProgram &program) {
  if (!rule.main.matches(program.rule_name())) return std::nullopt;
  if (!rule.arguments.empty() && !rule.arguments.matches(core::joined(program.arguments, " "))) return std::nullopt;
  auto name = rule.name.empty() ? std::string(program.short_name()) : fill(rule, rule.name, program);
  if (!name || !proper(*name)) return std::nullopt;
  Naming naming{std::move(*name), {}};
  for (const RuleTag &tag : rule.tags)
    if (auto value = fill(rule, tag.value, program); value && proper(*value))
      naming.tags.push_back({tag.tag, std::move(*value), tag.inherited});
  return naming;
}

// Fills the template; nothing if a value is missing in the arguments.
std::optional<std::string> Rules::fill(const JvmRule &rule, const Template &pieces, const JavaProgram &program) {
  std::string text;
  for (const Piece &piece : pieces) {
    text += piece.text;
    if (piece.value.empty() && piece.position == 0) continue;
    const auto value = value_of(rule, piece, program);
    if (!value || value->empty()) return std::nullopt;
    text += piece.part == Piece::Part::last ? last_part(*value) : piece.part == Piece::Part::file ? base_name(*value) : *value;
  }
  return text;
}

std::optional<std::string_view> Rules::value_of(const JvmRule &rule, const Piece &piece, const JavaProgram &program) {
  const Words &arguments = program.arguments;
  if (piece.position > 0) return piece.position <= arguments.size() ? std::optional(arguments[piece.position - 1]) : std::nullopt;
  if (const auto option = rule.option.find(piece.value); option != rule.option.end())
    return option_value(arguments, option->second);
  const auto wanted =
      std::find_if(rule.argument.begin(), rule.argument.end(), [&](const Argument &one) { return one.name == piece.value; });
  return first_argument(arguments, wanted->pattern);
}

// The first word must be the interpreter's name too: if the process has overwritten its command line with a title, its script is
// unknown.
Naming Rules::name_script(const Words &command_line) const {
  if (command_line.size() < 2) return {};
  std::string_view called = base_name(command_line.front());
  if (called.starts_with('-')) called.remove_prefix(1);  // a login shell
  const Interpreter *interpreter = interpreter_named(called);
  if (interpreter == nullptr) return {};
  const std::string_view script = script_of(command_line, interpreter->options);
  return {proper(script) ? std::string(script) : std::string(), {}};
}

}  // namespace atalaya::names
