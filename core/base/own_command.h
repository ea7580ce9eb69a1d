// SPDX-License-Identifier: Apache-2.0
// Another command of this binary, in a process of its own: what it opens and allocates ends with it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace atalaya::core {

// Errors of both functions, for callers that know what to do: the whole text, and the begin of one.
inline constexpr std::string_view kTooLong = "it takes too long", kEndedBySignal = "it was ended by signal ";

// The standard output of `atalaya WORDS...`, which runs with the privileges of this process. An error, and the end of the process,
// after `limit_ns`, or when the descriptor `stop` becomes readable.
Result<std::string> output_of_own_command(std::vector<std::string> words, int64_t limit_ns, int stop);
// Its standard output goes to the open file, and it yields the CPU to other programs. Also an error if it fails: what it wrote to
// its standard error.
Status own_command_into(int file, std::vector<std::string> words, int64_t limit_ns, int stop);

}  // namespace atalaya::core
