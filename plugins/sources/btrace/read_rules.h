// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include "plugins/sources/btrace/rules.h"

namespace atalaya::btrace {

using namespace atalaya::literals;

inline constexpr Param kCapture[] = {{.type = ATALAYA_STRING, .summary = "What a capture is."_str}};
inline constexpr Param kTagText[] = {{.type = ATALAYA_STRING, .summary = "A tag's value."_str}};
inline constexpr Param kRuleMembers[] = {
    {.name = "match"_str,
     .type = ATALAYA_STRING,
     .flags = ATALAYA_REQUIRED,
     .summary = "A Lua pattern, found anywhere in the line unless it begins with ^."_str},
    {.name = "emit"_str,
     .type = ATALAYA_ENUM,
     .default_text = "metrics"_str,
     .allowed = "metrics|begin|end|span|drop"_str,
     .summary = "A sample with fields, the begin or end of a span, a whole span, or nothing."_str},
    {.name = "level"_str, .type = ATALAYA_ENUM, .allowed = "job|stage|task|phase|region"_str, .summary = "Of a span."_str},
    {.name = "captures"_str,
     .type = ATALAYA_LIST,
     .summary =
         "What each capture is: tag.NAME, field.NAME, time, a word of the phase line (job, task, start, bytes, ...), or _ for nothing."_str,
     .items = kCapture,
     .item_count = 1,
     .item_size = sizeof(Param)},
    {.name = "tags"_str,
     .type = ATALAYA_MAP,
     .summary = "Tags that all of them have."_str,
     .items = kTagText,
     .item_count = 1,
     .item_size = sizeof(Param)},
    {.name = "time"_str,
     .type = ATALAYA_STRING,
     .default_text = "epoch"_str,
     .summary =
         "How times are written: epoch (s, ms, us or ns), or a format of strptime, behind which a fraction may stand: %Y-%m-%d %H:%M:%S."_str},
    {.name = "utc"_str,
     .type = ATALAYA_BOOL,
     .default_text = "false"_str,
     .summary = "Times by a format are UTC, not this host's local time."_str},
};
inline constexpr Param kRule[] = {{.type = ATALAYA_RECORD,
                                   .summary = "A rule."_str,
                                   .items = kRuleMembers,
                                   .item_count = sizeof(kRuleMembers) / sizeof(Param),
                                   .item_size = sizeof(Param)}};

// The parameter `rules`. Throws Failure for one that cannot work.
Rules read_rules(Host host);

}  // namespace atalaya::btrace
