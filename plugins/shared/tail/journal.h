// SPDX-License-Identifier: Apache-2.0
// What a source that follows files keeps over restarts: where it is, what it was about to hand on, and lines of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "plugins/shared/tail/content_mark.h"

namespace atalaya::tail {

struct Journal {
  int64_t written_ns = 0;  // CLOCK_REALTIME; by it the changes to a journal know theirs
  int64_t began_ns = 0;
  std::vector<Position> positions;  // every line before them is held by the sinks
  // The batch that was handed on last and of which nobody has said yet that it arrived: to be made again, the same.
  int64_t batch_time_ns = 0;  // 0: none
  std::vector<Segment> segments;
  std::vector<std::string> own;  // the source's, as of the positions
};

// What has changed since a journal was written.
struct Recent {
  int64_t over_ns = 0;  // when that was written
  std::vector<FileId> gone;
  Journal journal;  // its positions: those that have changed or are new; all else whole
};

std::string journal_text(const Journal &journal);
std::string recent_text(const Recent &changes);
core::Result<Journal> parse_journal(std::string_view text);
core::Result<Recent> parse_recent(std::string_view text);

// Spaces, control characters and '%' as %XX; and back. False: not so written.
std::string escaped(std::string_view text);
bool unescape(std::string_view text, std::string &out);

}  // namespace atalaya::tail
