// SPDX-License-Identifier: Apache-2.0
// Turns lines of all files into samples: by the operator's rules, then as phase lines, then as BTrace output.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "plugins/shared/io/tail/content_mark.h"
#include "plugins/shared/io/tail/journal_file.h"
#include "plugins/shared/protocols/btrace/forms.h"
#include "plugins/shared/protocols/btrace/phase_line.h"
#include "plugins/shared/protocols/btrace/record.h"
#include "plugins/shared/protocols/btrace/rules.h"
#include "plugins/shared/protocols/btrace/spans.h"

namespace atalaya::btrace {

struct ReaderOptions {
  bool phase_lines = true, forms = true, report_open = false;
  size_t max_open = 10000;
  int64_t max_age_ns = 7 * 86'400'000'000'000;  // maximum age of an open span, since its begin was read
  // maximum bytes of open spans in the journal; the rest of it is for positions in files
  size_t max_open_bytes = tail::kMaxJournalBytes / 2;
};

struct LineCounts {
  int64_t lines = 0;
  int64_t plain = 0;  // lines that match nothing, without those of `forms`
  int64_t bad = 0;    // phase lines and lines of rules with invalid values
  FormCounts forms;
};

class LineReader {
 public:
  LineReader(ReaderOptions options, Rules rules, std::function<void(const std::string &)> log);

  // `now_ns`: time of reading. `first`: first line of the file.
  void take(const tail::FileId &file, std::string_view line, bool first, int64_t now_ns, const Output &out);

  // Expires at most `max_count` open spans that are older than max_age.
  void expire(int64_t now_ns, size_t max_count, const Output &out) {
    spans_.expire(now_ns - options_.max_age_ns, now_ns, max_count, out);
  }

  const LineCounts &counts() const { return counts_; }
  const Spans &spans() const { return spans_; }

  // Saves the state of earlier lines, except of files not in `files`, and restores it.
  std::vector<std::string> state(const std::vector<tail::Position> &files);
  core::Status restore(const std::vector<std::string> &state);

 private:
  bool take_rule(std::string_view line, int64_t time_ns, int64_t now_ns, const Output &out);
  bool take_phase(std::string_view line, int64_t time_ns, int64_t now_ns, const Output &out);
  void take_event(std::string_view line, int64_t time_ns, int64_t now_ns, const Output &out);
  void log_orphan(std::string_view line);
  void bad(std::string_view line, const std::string &problem);

  const ReaderOptions options_;
  Rules rules_;
  const std::function<void(const std::string &)> log_;
  PhaseLineReader phase_lines_;
  std::map<tail::FileId, Forms> forms_;
  Spans spans_;
  LineCounts counts_;
  Record record_;
  SpanEvent event_;
  bool orphan_logged_ = false;
  std::map<std::string, int64_t> bad_logged_ns_;  // CLOCK_MONOTONIC of the last logged malformed line, by cause
};

}  // namespace atalaya::btrace
