// SPDX-License-Identifier: Apache-2.0
// Makes spans of the begin and end events of jobs, stages, tasks, phases and regions.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "plugins/shared/protocols/btrace/record.h"

namespace atalaya::btrace {

// Whether the name is a level of spans: job, stage, task, phase, region.
bool is_level(std::string_view name);

// The content of a line about a span. Texts are views of the line.
struct SpanEvent {
  enum class Kind { begin, end, whole } kind = Kind::begin;
  std::string_view level;
  std::vector<Tag> tags;
  std::vector<Field> fields;
  std::string_view seq;              // pairs begin and end if several equal spans are open
  int64_t begin_ns = 0, end_ns = 0;  // 0: time of reading

  void begin_line(Kind of_kind, std::string_view of_level) {
    kind = of_kind;
    level = of_level;
    tags.clear();
    fields.clear();
    seq = {};
    begin_ns = end_ns = 0;
  }
};

struct SpanCounts {
  int64_t orphans = 0;    // ends without a begin
  int64_t backwards = 0;  // ends before their begin
  int64_t evicted = 0;    // begins removed because of max_open
  int64_t expired = 0;    // begins without an end
};

class Spans {
 public:
  Spans(size_t max_open, size_t max_bytes, bool report_open)
      : max_open_(max_open), max_bytes_(max_bytes), report_open_(report_open) {}

  // `line_ns`: the line's time, used if the event has none; `read_ns`: the time of reading.
  void take(const SpanEvent &event, int64_t line_ns, int64_t read_ns, const Output &out);
  // Expires at most `max_count` open spans whose begin was read before `read_before_ns`.
  void expire(int64_t read_before_ns, int64_t now_ns, size_t max_count, const Output &out);

  size_t open() const { return open_.size(); }
  const SpanCounts &counts() const { return counts_; }

  // The open spans, one line each; `restore` adds a span of such a line.
  std::vector<std::string> lines() const;
  core::Status restore(std::string_view line);

 private:
  struct Open {
    std::string key, level, seq;
    int64_t begin_ns = 0;
    int64_t read_ns = 0;  // time of reading, from which the age is counted, also for old logs
    size_t bytes = 0;     // bytes of its line in a journal
    std::vector<std::pair<std::string, std::string>> tags;
    std::vector<std::pair<std::string, Number>> fields;
  };
  using Place = std::list<Open>::iterator;

  static std::string line_of(const Open &open);
  void begin(const SpanEvent &event, int64_t begin_ns, int64_t read_ns, const Output &out);
  void report_unfinished(const Open &open, int64_t end_ns, const Output &out);
  void end(const SpanEvent &event, int64_t end_ns, const Output &out);
  void add(Open open);
  void remove(Place place);
  void emit(const Open &open, int64_t duration_ns, const std::vector<Field> &more, const Output &out);

  const size_t max_open_, max_bytes_;
  const bool report_open_;
  std::list<Open> open_;  // the oldest first
  size_t bytes_ = 0;      // sum of Open::bytes
  std::map<std::string, std::deque<Place>, std::less<>> by_key_;
  SpanCounts counts_;
  Record record_;
  std::string key_;
};

}  // namespace atalaya::btrace
