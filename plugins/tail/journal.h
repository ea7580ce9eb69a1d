// SPDX-License-Identifier: Apache-2.0
// What a source that follows files keeps over restarts: where it is, what it was about to hand on, and lines of its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/util/result.h"
#include "plugins/tail/tail.h"

namespace atalaya::tail {

// A longer one is neither written nor read.
inline constexpr size_t kMaxJournalBytes = size_t{64} << 20;

struct Journal {
  int64_t began_ns = 0;
  std::vector<Position> positions;  // every line before them is held by the sinks
  // The batch that was handed on last and of which nobody has said yet that it arrived: to be made again, the same.
  int64_t batch_time_ns = 0;  // 0: none
  std::vector<Segment> segments;
  std::vector<std::string> own;  // the source's, as of the positions
};

std::string journal_text(const Journal &journal);
core::Result<Journal> parse_journal(std::string_view text);

// Replaces the file by this text, all or nothing, also when the power fails.
core::Status write_journal(const std::string &path, const std::string &text);
// An empty one when there is no file.
core::Result<Journal> read_journal(const std::string &path);

// Spaces, control characters and '%' as %XX; and back. False: not so written.
std::string escaped(std::string_view text);
bool unescape(std::string_view text, std::string &out);

}  // namespace atalaya::tail
