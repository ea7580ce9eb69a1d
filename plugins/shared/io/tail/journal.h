// SPDX-License-Identifier: Apache-2.0
// The state that a source that follows files keeps over restarts: positions, the batch in flight, and the source's lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "plugins/shared/io/tail/content_mark.h"

namespace atalaya::tail {

struct Journal {
  int64_t written_ns = 0;  // CLOCK_REALTIME; links changes to their journal
  int64_t began_ns = 0;
  std::vector<Position> positions;  // the sinks hold every line before them
  // The last batch that was not acknowledged yet: after a restart it is built again, identical.
  int64_t batch_time_ns = 0;  // 0: none
  std::vector<Segment> segments;
  std::vector<std::string> own;  // the source's lines, as of the positions
};

// Changes since a journal was written.
struct Recent {
  int64_t over_ns = 0;  // written_ns of that journal
  std::vector<FileId> gone;
  Journal journal;  // positions: only changed and new ones; all other members complete
};

std::string journal_text(const Journal &journal);
std::string recent_text(const Recent &changes);
core::Result<Journal> parse_journal(std::string_view text);
core::Result<Recent> parse_recent(std::string_view text);

// Encodes spaces, control characters and '%' as %XX, and decodes them. False: malformed.
std::string escaped(std::string_view text);
bool unescape(std::string_view text, std::string &out);

}  // namespace atalaya::tail
