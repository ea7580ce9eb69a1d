// SPDX-License-Identifier: Apache-2.0
// HotSpot's attach protocol: a socket that a JVM opens in its /tmp when it is asked to by a file and SIGQUIT. One command a
// connection.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/util/result.h"
#include "plugins/symbols/process_memory.h"

namespace atalaya::jvm {

struct Target {
  int32_t pid = 0;
  uint64_t start_ticks = 0;
  symbols::ProcessStatus status;
};

// What the JVM answered to the command of jcmd, such as "Compiler.perfmap". Waits so long at most. An error when it is not there,
// does not answer, or says that it could not.
core::Result<std::string> run_jcmd(const Target &target, std::string_view command, int64_t timeout_ns);

// The bytes of a request, and the text of an answer; the first line of that is a number, 0 when all went well. Pure.
std::string request_bytes(std::string_view command);
core::Result<std::string> parse_answer(std::string_view bytes);

}  // namespace atalaya::jvm
