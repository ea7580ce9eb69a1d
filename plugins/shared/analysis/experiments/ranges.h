// SPDX-License-Identifier: Apache-2.0
// Parses times and ranges that may name an experiment of the store. All throw Wrong with a text that starts with `where`, and
// store::Error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plugins/shared/store/query/types.h"
#include "plugins/shared/store/store.h"

namespace atalaya::experiments {

// Parses a time as parse_time does, or "EXPERIMENT+2m": 2 minutes after the start of the last experiment of that name.
int64_t time_of(std::string_view where, const std::string &text, store::Store &store, int64_t now_ns);
// Parses "FROM..TO" or "FROM:TO" of such times (which may contain colons), or the name of an experiment: the range of the last one.
query::Range range_of(std::string_view where, const std::string &text, store::Store &store, int64_t now_ns);

}  // namespace atalaya::experiments
