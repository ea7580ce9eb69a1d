// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/btrace/line_reader.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "core/base/now.h"
#include "core/base/text/text.h"
#include "plugins/shared/protocols/btrace/times.h"

namespace atalaya::btrace {
namespace {

constexpr std::string_view kOpen = "open ", kForm = "form ";

// Uses all 64 bits: some file systems use hashes as inodes.
bool parse_id(std::string_view text, uint64_t &id) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), id);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

// The problem without the quoted parts of the line.
std::string cause_of(std::string_view problem) {
  std::string cause;
  bool is_quoted = false;
  for (const char c : problem) {
    if (c == '"') is_quoted = !is_quoted;
    if (!is_quoted && (c < '0' || c > '9')) cause += c;
  }
  return cause;
}

}  // namespace

LineReader::LineReader(ReaderOptions options, Rules rules, std::function<void(const std::string &)> log)
    : options_(options),
      rules_(std::move(rules)),
      log_(std::move(log)),
      spans_(options.max_open, options.max_open_bytes, options.report_open) {}

void LineReader::take(const tail::FileId &file, std::string_view line, bool first, int64_t now_ns, const Output &out) {
  ++counts_.lines;
  int64_t time_ns = 0;
  const size_t prefix = message_time(line, now_ns, time_ns);
  line.remove_prefix(prefix);
  const auto known = forms_.find(file);
  const bool taken = take_rule(line, time_ns, now_ns, out) || take_phase(line, time_ns, now_ns, out);
  if (taken || !options_.forms) {
    if (known != forms_.end()) known->second.interrupt(counts_.forms), forms_.erase(known);
    if (!taken) ++counts_.plain;
    return;
  }
  Forms &forms = known != forms_.end() ? known->second : forms_[file];
  if (first) forms.interrupt(counts_.forms);
  forms.take(line, time_ns, prefix > 0, counts_.forms, out);
  if (forms.idle()) forms_.erase(file);
}

// Logs one malformed line per minute and cause: a log may have thousands, each with a text of its own. btrace.lines.bad counts all.
void LineReader::bad(std::string_view line, const std::string &problem) {
  constexpr int64_t kLogEvery = 60'000'000'000;
  ++counts_.bad;
  const int64_t now_ns = core::monotonic();
  const auto [logged, is_new] = bad_logged_ns_.try_emplace(cause_of(problem), now_ns);
  if (!is_new && now_ns - logged->second < kLogEvery) return;
  logged->second = now_ns;
  log_("line " + core::in_quotes(line) + ": " + problem);
}

bool LineReader::take_rule(std::string_view line, int64_t time_ns, int64_t now_ns, const Output &out) {
  const auto read = rules_.read(line, record_, event_);
  if (!read) {
    bad(line, read.error());
    return true;
  }
  const Rules::Found found = read.value();
  if (found == Rules::Found::none) return false;
  if (found == Rules::Found::event) take_event(line, time_ns, now_ns, out);
  if (found == Rules::Found::metrics) {
    if (record_.time_ns == 0) record_.time_ns = time_ns;
    out(record_);
  }
  return true;
}

bool LineReader::take_phase(std::string_view line, int64_t time_ns, int64_t now_ns, const Output &out) {
  if (!options_.phase_lines) return false;
  const auto parsed = phase_lines_.read(line, event_);
  if (parsed && parsed.value() == Parsed::none) return false;
  if (!parsed) {
    bad(line, parsed.error());
  } else {
    take_event(line, time_ns, now_ns, out);
  }
  return true;
}

void LineReader::take_event(std::string_view line, int64_t time_ns, int64_t now_ns, const Output &out) {
  const SpanCounts before = spans_.counts();
  spans_.take(event_, time_ns != 0 ? time_ns : now_ns, now_ns, out);
  if (spans_.counts().orphans > before.orphans) log_orphan(line);
  if (spans_.counts().evicted > before.evicted)
    log_("more than max_open = " + std::to_string(options_.max_open) + " spans, or " +
         std::to_string(options_.max_open_bytes >> 20) + " MiB of them, are open; giving up the oldest");
}

// Logs once: ends of spans that began before the log was followed are normal.
void LineReader::log_orphan(std::string_view line) {
  if (std::exchange(orphan_logged_, true)) return;
  log_("line " + core::in_quotes(line) +
       ": no span, because its begin was not read. The end must have the same job, stage, task, attempt, phase, name and seq as "
       "the begin. This is normal if the begin was written before the log was followed. Logged once; "
       "btrace.spans.orphans counts all");
}

std::vector<std::string> LineReader::state(const std::vector<tail::Position> &files) {
  std::set<tail::FileId> there;
  if (!forms_.empty())
    for (const tail::Position &file : files) there.insert(file.id);
  std::erase_if(forms_, [&there](const auto &entry) { return there.count(entry.first) == 0; });
  std::vector<std::string> lines = spans_.lines();
  for (std::string &line : lines) line.insert(0, kOpen);
  for (const auto &[file, forms] : forms_)
    lines.push_back(std::string(kForm) + std::to_string(file.device) + ' ' + std::to_string(file.inode) + ' ' + forms.line());
  return lines;
}

core::Status LineReader::restore(const std::vector<std::string> &state) {
  for (const std::string_view line : state) {
    if (line.starts_with(kOpen)) {
      if (auto done = spans_.restore(line.substr(kOpen.size())); !done) return done;
      continue;
    }
    const size_t first = line.find(' '), second = line.find(' ', first + 1), third = line.find(' ', second + 1);
    if (!line.starts_with(kForm) || third == std::string_view::npos)
      return core::Error{"unknown line: " + std::string(line.substr(0, 100))};
    tail::FileId file;
    if (!parse_id(line.substr(first + 1, second - first - 1), file.device) ||
        !parse_id(line.substr(second + 1, third - second - 1), file.inode))
      return core::Error{"unknown file: " + std::string(line.substr(0, 100))};
    if (auto done = forms_[file].restore(line.substr(third + 1)); !done) return done;
  }
  return core::Done{};
}

}  // namespace atalaya::btrace
