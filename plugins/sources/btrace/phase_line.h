// SPDX-License-Identifier: Apache-2.0
// The documented line that our BTrace scripts print (docs/how-to/phase-lines.md):
//   atalaya begin phase job=job_1 task=task_1 phase=spill time=1700000000123
//   atalaya end phase job=job_1 task=task_1 phase=spill time=1700000000456 bytes=4096
//   atalaya span region name=parse start=1700000000123 end=1700000000124
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "plugins/sources/btrace/spans.h"

namespace atalaya::btrace {

enum class Parsed { none, event, bad };

// What every kind of line can say of a span, by its word: job, phase, bytes, time ... One way for phase lines and rules.
// False: the word is not known, or the value is not what it should be.
bool set_key(SpanEvent &event, std::string_view key, std::string_view value, std::string &problem);

class PhaseLineReader {
 public:
  // `bad`: it is one, but says something that cannot be; `problem` has what.
  Parsed read(std::string_view line, SpanEvent &event, std::string &problem);

 private:
  bool read_words(std::string_view words, SpanEvent &event, std::string &problem);
  std::string_view decoded(std::string_view text, bool &good);

  std::deque<std::string> texts_;  // decoded values of the line at hand
  size_t used_ = 0;
};

}  // namespace atalaya::btrace
