// SPDX-License-Identifier: Apache-2.0
// Times and ranges that may name an experiment of the store. What is wrong begins with `where`. All throw Wrong, and store::Error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plugins/shared/store/query/types.h"
#include "plugins/shared/store/store.h"

namespace atalaya::experiments {

// A time as parse_time reads it, or "EXPERIMENT+2m": the start of the last experiment of that name, and a length.
int64_t time_of(std::string_view where, const std::string &text, store::Store &store, int64_t now_ns);
// "FROM..TO" or "FROM:TO" of such times, although times contain colons, or the last experiment of that name.
query::Range range_of(std::string_view where, const std::string &text, store::Store &store, int64_t now_ns);

}  // namespace atalaya::experiments
