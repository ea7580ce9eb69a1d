// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/btrace/spans.h"

#include <algorithm>
#include <array>
#include <bit>

#include "plugins/shared/io/tail/journal.h"

namespace atalaya::btrace {
namespace {

using namespace std::literals;

constexpr std::array kLevels = {"job"sv, "stage"sv, "task"sv, "phase"sv, "region"sv};
// Tags that pair a begin and its end; other tags of a begin are added to the span.
constexpr std::array kKeyTags = {"job"sv, "stage"sv, "task"sv, "attempt"sv, "phase"sv, "name"sv};

void make_key(std::string &key, std::string_view level, std::string_view seq, const auto &tags) {
  (key = level) += '\0';
  key += seq;
  for (const std::string_view wanted : kKeyTags) {
    key += '\0';
    const auto found = std::find_if(tags.begin(), tags.end(), [&](const auto &tag) { return tag.first == wanted; });
    if (found != tags.end()) (key += '=') += found->second;
  }
}

template <class List, class Name, class Value>
void set(List &list, const Name &name, const Value &value) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const auto &one) { return one.first == name; });
  if (found != list.end()) {
    found->second = value;
  } else {
    list.emplace_back(name, value);
  }
}

// Additional bytes per span in a journal.
constexpr size_t kLineBytes = std::string_view("own open%20\n").size();

// The words of a line, unescaped.
bool split(std::string_view line, std::vector<std::string> &words) {
  for (size_t at = 0; at <= line.size();) {
    const size_t end = std::min(line.find(' ', at), line.size());
    if (!tail::unescape(line.substr(at, end - at), words.emplace_back())) return false;
    at = end + 1;
  }
  return true;
}

}  // namespace

bool is_level(std::string_view word) {
  return std::find(kLevels.begin(), kLevels.end(), word) != kLevels.end();
}

void Spans::take(const SpanEvent &event, int64_t line_ns, int64_t read_ns, const Output &out) {
  const int64_t begin_ns = event.begin_ns != 0 ? event.begin_ns : line_ns;
  const int64_t end_ns = event.end_ns != 0 ? event.end_ns : line_ns;
  if (event.kind == SpanEvent::Kind::begin) return begin(event, begin_ns, read_ns, out);
  if (event.kind == SpanEvent::Kind::end) return end(event, end_ns, out);
  if (end_ns < begin_ns) {
    ++counts_.backwards;
    return;
  }
  record_.clear();
  record_.kind = ATALAYA_SPAN;
  record_.text = event.level;
  record_.time_ns = begin_ns;
  record_.duration_ns = end_ns - begin_ns;
  record_.tags = event.tags;
  record_.fields = event.fields;
  out(record_);
}

void Spans::begin(const SpanEvent &event, int64_t begin_ns, int64_t read_ns, const Output &out) {
  Open open;
  make_key(open.key, event.level, event.seq, event.tags);
  open.level = event.level;
  open.seq = event.seq;
  open.begin_ns = begin_ns;
  open.read_ns = read_ns;
  for (const auto &[key, value] : event.tags) set(open.tags, key, std::string(value));
  for (const auto &[name, number] : event.fields) set(open.fields, name, number);
  if (report_open_) emit(open, -1, {}, out);
  add(std::move(open));
  while (open_.size() > max_open_ || bytes_ > max_bytes_) {
    ++counts_.evicted;
    report_unfinished(open_.front(), begin_ns, out);
    remove(open_.begin());
  }
}

// Begins of killed programs have no end. A begin read before the clock was set back counts as new.
void Spans::expire(int64_t read_before_ns, int64_t now_ns, size_t max_count, const Output &out) {
  for (auto place = open_.begin(); place != open_.end() && max_count > 0;) {
    if (place->read_ns > now_ns) {
      place++->read_ns = now_ns;
    } else if (place->read_ns < read_before_ns) {
      ++counts_.expired;
      --max_count;
      report_unfinished(*place, now_ns, out);
      remove(place++);
    } else {
      return;
    }
  }
}

// If the span was reported open, reports that its end is no longer awaited.
void Spans::report_unfinished(const Open &open, int64_t end_ns, const Output &out) {
  if (report_open_) emit(open, std::max<int64_t>(end_ns - open.begin_ns, 0), {{"span.given_up", count_of(1)}}, out);
}

void Spans::add(Open open) {
  open.bytes = tail::escaped(line_of(open)).size() + kLineBytes;
  bytes_ += open.bytes;
  const Place place = open_.insert(open_.end(), std::move(open));
  by_key_[place->key].push_back(place);
}

void Spans::remove(Place place) {
  const auto entry = by_key_.find(place->key);
  entry->second.erase(std::find(entry->second.begin(), entry->second.end(), place));
  if (entry->second.empty()) by_key_.erase(entry);
  bytes_ -= place->bytes;
  open_.erase(place);
}

// Of several equal begins, the first one ends first.
void Spans::end(const SpanEvent &event, int64_t end_ns, const Output &out) {
  make_key(key_, event.level, event.seq, event.tags);
  const auto found = by_key_.find(key_);
  if (found == by_key_.end()) {
    ++counts_.orphans;
    return;
  }
  const Place place = found->second.front();
  if (end_ns >= place->begin_ns) {
    emit(*place, end_ns - place->begin_ns, event.fields, out);
  } else {
    ++counts_.backwards;
    report_unfinished(*place, place->begin_ns, out);
  }
  remove(place);
}

void Spans::emit(const Open &open, int64_t duration_ns, const std::vector<Field> &more, const Output &out) {
  record_.clear();
  record_.kind = ATALAYA_SPAN;
  record_.text = open.level;
  record_.time_ns = open.begin_ns;
  record_.duration_ns = duration_ns;
  for (const auto &[key, value] : open.tags) record_.tags.emplace_back(key, value);
  for (const auto &[name, number] : open.fields) record_.fields.emplace_back(name, number);
  for (const auto &[name, number] : more) set(record_.fields, name, number);
  out(record_);
}

// "LEVEL SEQ BEGIN READ TAGS KEY VALUE... NAME i|d NUMBER..."; a double by its bits.
std::string Spans::line_of(const Open &open) {
  std::string line = open.level + ' ' + tail::escaped(open.seq) + ' ' + std::to_string(open.begin_ns);
  line += ' ' + std::to_string(open.read_ns);
  line += ' ' + std::to_string(open.tags.size());
  for (const auto &[key, value] : open.tags) line += ' ' + tail::escaped(key) + ' ' + tail::escaped(value);
  for (const auto &[name, number] : open.fields) {
    line += ' ' + tail::escaped(name) + (number.is_count ? " i " : " d ");
    line += std::to_string(number.is_count ? number.count : std::bit_cast<int64_t>(number.value));
  }
  return line;
}

std::vector<std::string> Spans::lines() const {
  std::vector<std::string> lines;
  for (const Open &open : open_) lines.push_back(line_of(open));
  return lines;
}

core::Status Spans::restore(std::string_view line) {
  const core::Error wrong{"malformed open span: " + std::string(line.substr(0, 100))};
  std::vector<std::string> words;
  if (!split(line, words) || words.size() < 5 || !is_level(words[0])) return wrong;
  Open open;
  open.level = words[0];
  open.seq = words[1];
  const auto begin = parse_integer(words[2]), read = parse_integer(words[3]), tags = parse_integer(words[4]);
  if (!begin || !read || !tags || *tags < 0 || static_cast<size_t>(*tags) > (words.size() - 5) / 2) return wrong;
  open.begin_ns = *begin;
  open.read_ns = *read;
  size_t at = 5;
  for (int64_t i = 0; i < *tags; ++i, at += 2) open.tags.emplace_back(words[at], words[at + 1]);
  for (; at + 3 <= words.size(); at += 3) {
    const auto number = parse_integer(words[at + 2]);
    if (!number || (words[at + 1] != "i" && words[at + 1] != "d")) return wrong;
    open.fields.emplace_back(words[at],
                             words[at + 1] == "i" ? count_of(*number) : Number{false, 0, std::bit_cast<double>(*number)});
  }
  if (at != words.size()) return wrong;
  make_key(open.key, open.level, open.seq, open.tags);
  add(std::move(open));
  return core::Done{};
}

}  // namespace atalaya::btrace
