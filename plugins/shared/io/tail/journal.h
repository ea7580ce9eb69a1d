// SPDX-License-Identifier: Apache-2.0
// The state of a source that follows files, which survives restarts: positions, the batch in flight, the source's own lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "plugins/shared/io/tail/content_mark.h"

namespace atalaya::tail {

struct Journal {
  int64_t written_ns = 0;  // CLOCK_REALTIME; Recent::base_written_ns refers to it
  int64_t began_ns = 0;
  std::vector<Position> positions;  // the sinks have accepted all lines before them
  // The batch in flight, which is not acknowledged yet. After a restart it is built again from the same segments.
  int64_t batch_time_ns = 0;  // 0: no batch
  std::vector<Segment> segments;
  std::vector<std::string> own;  // lines of the source, which belong to the positions
};

// Changes since a journal was written.
struct Recent {
  int64_t base_written_ns = 0;  // written_ns of that journal
  std::vector<FileId> removed;
  Journal journal;  // `positions` has only changed and new ones; the other members are complete
};

std::string journal_text(const Journal &journal);
std::string recent_text(const Recent &changes);
core::Result<Journal> parse_journal(std::string_view text);
core::Result<Recent> parse_recent(std::string_view text);

// Encodes spaces, control characters and '%' as %XX, and decodes them. False: malformed.
std::string escaped(std::string_view text);
bool unescape(std::string_view text, std::string &out);

}  // namespace atalaya::tail
