// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include "plugins/shared/protocols/btrace/rules.h"

namespace atalaya::btrace {

inline constexpr Param kCapture[] = {param::string("", "Meaning of a capture")};
inline constexpr Param kTagText[] = {param::string("", "Value of a tag")};
inline constexpr Param kRuleMembers[] = {
    param::string("match", "A Lua pattern; matches anywhere in the line unless it begins with ^").required(),
    param::choice("emit", "metrics|begin|end|span|drop",
                  "A sample with fields, the begin or end of a span, a complete span, or nothing")
        .defaults("metrics"),
    param::choice("level", "job|stage|task|phase|region", "Level of a span"),
    param::list(
        "captures", kCapture,
        "Meaning of each capture: tag.NAME, field.NAME, time, a key of phase lines (job, start, bytes, ...), or _ for none"),
    param::map("tags", kTagText, "Constant tags of the rule's samples"),
    param::string("time",
                  "Format of times: epoch (s, ms, us or ns), or a strptime format, optionally with a fraction: %Y-%m-%d %H:%M:%S")
        .defaults("epoch"),
    param::boolean("utc", "Times in a strptime format are UTC instead of local time").defaults("false"),
};
inline constexpr Param kRule[] = {param::record("", kRuleMembers, "A rule")};

// Reads the parameter `rules`. Throws Failure for an invalid rule.
Rules read_rules(Host host);

}  // namespace atalaya::btrace
