// SPDX-License-Identifier: Apache-2.0
// The documented format of lines that the BTrace scripts print (docs/how-to/phase-lines.md):
//   atalaya begin phase job=job_1 task=task_1 phase=spill time=1700000000123
//   atalaya end phase job=job_1 task=task_1 phase=spill time=1700000000456 bytes=4096
//   atalaya span region name=parse start=1700000000123 end=1700000000124
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "plugins/shared/protocols/btrace/spans.h"

namespace atalaya::btrace {

enum class Parsed { none, event };

// Sets a property of a span by its key: job, phase, bytes, time ... Used by phase lines and rules. Returns an error for an unknown
// key or an invalid value.
core::Status set_key(SpanEvent &event, std::string_view key, std::string_view value);

class PhaseLineReader {
 public:
  // Reads a line. Returns an error for a phase line with an invalid value.
  core::Result<Parsed> read(std::string_view line, SpanEvent &event);

 private:
  core::Status read_words(std::string_view words, SpanEvent &event);
  std::string_view decoded(std::string_view text, bool &good);

  std::deque<std::string> texts_;  // decoded values of the current line
  size_t used_ = 0;
};

}  // namespace atalaya::btrace
