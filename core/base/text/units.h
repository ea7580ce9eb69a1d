// SPDX-License-Identifier: Apache-2.0
// Durations and sizes as operators write them: "250ms", "1h30m", "64 MiB".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace atalaya::core {

// Returns nanoseconds. Units: ns us ms s m h d w y (365 days), larger ones first. A number without a unit is an error that shows
// the valid form.
Result<int64_t> parse_duration(std::string_view text);
// Returns bytes. Units: B, kB MB GB TB (powers of 1000), KiB MiB GiB TiB (powers of 1024).
Result<int64_t> parse_size(std::string_view text);

// The shortest exact form: parse_duration and parse_size return the same number for it.
std::string format_duration(int64_t ns);
std::string format_size(int64_t bytes);

}  // namespace atalaya::core
