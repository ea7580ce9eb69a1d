// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/alerts/journal.h"

#include <cmath>

#include "core/base/text/json.h"
#include "core/base/text/text.h"
#include "plugins/shared/io/tail/journal.h"

namespace atalaya::alerts {
namespace {

// One line per alert: "WHAT SINCE OTHER VALUE REPORTED RULE SEVERITY SUMMARY ADVICE KEY VALUE ...", texts as tail::escaped writes
// them; an empty text is "%".
constexpr std::string_view kFirstLine = "atalaya alerts 1";

std::string word(std::string_view text) {
  return text.empty() ? "%" : tail::escaped(text);
}

bool next_word(std::string_view &line, std::string_view &word) {
  if (line.empty()) return false;
  word = core::cut_at(line, ' ');
  return !word.empty();
}

bool next_text(std::string_view &line, std::string &text) {
  std::string_view encoded;
  if (!next_word(line, encoded)) return false;
  if (encoded == "%") {
    text.clear();
    return true;
  }
  return tail::unescape(encoded, text);
}

template <class T>
bool next_number(std::string_view &line, T &number) {
  std::string_view text;
  if (!next_word(line, text)) return false;
  const auto read = core::number_from<T>(text);
  number = read.value_or(T{});
  return read.has_value();
}

bool parse_line(std::string_view line, Kept &kept) {
  std::string_view what;
  int reported = 0;
  if (!next_word(line, what) || what.size() != 1 || std::string_view("PFCSUG").find(what[0]) == std::string_view::npos)
    return false;
  kept.what = static_cast<Kept::What>(what[0]);
  if (!next_number(line, kept.since_ns) || !next_number(line, kept.other_ns) || !next_number(line, kept.value) ||
      !next_number(line, reported) || !next_text(line, kept.rule) || !next_text(line, kept.texts.severity) ||
      !next_text(line, kept.texts.summary) || !next_text(line, kept.texts.advice))
    return false;
  kept.is_reported = reported != 0;
  while (!line.empty()) {
    std::string key, value;
    if (!next_text(line, key) || !next_text(line, value)) return false;
    kept.tags.emplace_back(std::move(key), std::move(value));
  }
  return kept.since_ns >= 0 && kept.other_ns >= 0 && std::isfinite(kept.value);
}

}  // namespace

std::string journal_text(const std::vector<Kept> &all) {
  std::string text(kFirstLine);
  text += '\n';
  for (const Kept &kept : all) {
    text += static_cast<char>(kept.what);
    for (const int64_t number : {kept.since_ns, kept.other_ns}) core::append_integer(text += ' ', number);
    core::append_number(text += ' ', kept.value);
    text += kept.is_reported ? " 1 " : " 0 ";
    text += word(kept.rule);
    for (const std::string *one : {&kept.texts.severity, &kept.texts.summary, &kept.texts.advice}) text += " " + word(*one);
    for (const auto &[key, value] : kept.tags) text += " " + word(key) + " " + word(value);
    text += '\n';
  }
  return text;
}

core::Result<std::vector<Kept>> parse_journal(std::string_view text) {
  std::vector<Kept> all;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return core::Error{"line " + std::to_string(number) + " is cut"};
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (number == 1) {
      if (line != kFirstLine) return core::Error{"is not a journal of alerts"};
      continue;
    }
    Kept kept;
    if (all.size() >= kMaxKept || !parse_line(line, kept)) return core::Error{"line " + std::to_string(number) + " is damaged"};
    all.push_back(std::move(kept));
  }
  return all;
}

}  // namespace atalaya::alerts
