// SPDX-License-Identifier: Apache-2.0
// Spans of time and amounts of memory as operators write them: "250ms", "1h30m", "64 MiB".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace atalaya::core {

// Nanoseconds. Units ns us ms s m h d w y (of 365 days), larger ones first;
// a number without a unit is an error that shows the right form.
Result<int64_t> parse_duration(std::string_view text);
// Bytes. Units B, kB MB GB TB (powers of 1000), KiB MiB GiB TiB (powers of 1024).
Result<int64_t> parse_size(std::string_view text);

// The shortest exact form; parsing it gives the same number.
std::string format_duration(int64_t ns);
std::string format_size(int64_t bytes);

}  // namespace atalaya::core
