// SPDX-License-Identifier: Apache-2.0
// Runs another command of this binary in a child process, so that its files and its memory are released when it ends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace atalaya::core {

// Error texts that callers compare: kTooLong is the complete error of a timeout, the error of a killed child starts with
// kEndedBySignal.
inline constexpr std::string_view kTooLong = "it takes too long", kEndedBySignal = "it was ended by signal ";

// Runs `atalaya ARGUMENTS...` with the privileges of this process and returns its standard output. After `limit_ns`, or when the
// descriptor `stop` becomes readable, ends the child and returns an error.
Result<std::string> output_of_own_command(std::vector<std::string> arguments, int64_t limit_ns, int stop);
// Runs `atalaya ARGUMENTS...` at low CPU priority and writes its standard output to the open file. If the command fails, the error
// is its standard error.
Status run_own_command(int output_file, std::vector<std::string> arguments, int64_t limit_ns, int stop);

}  // namespace atalaya::core
