// SPDX-License-Identifier: Apache-2.0
// Command lines as a tag: of which processes, and without the secrets that programs are given as arguments.
#pragma once

#include <string>
#include <string_view>

#include "plugins/shared/match/matcher.h"

namespace atalaya::proc {

// The text of /proc/PID/cmdline on one line: arguments with a blank between them, no control characters, at most 1024 bytes; "***"
// stands for what is, or may be, a secret. It rather hides too much: behind the name of a secret all that follows in that argument.
// `cut`: the text may end within an argument, which is left out then. `redact` chooses further arguments.
std::string redacted_command(std::string_view text, bool cut, const core::MatcherList &redact);

struct CommandLines {
  core::MatcherList allow;   // names of processes, as the kernel knows them; empty: none
  core::MatcherList redact;  // arguments that are hidden: all of it, or of an option alone what follows it

  bool allows(std::string_view process) const { return !allow.empty() && allow.matches(process); }
};

}  // namespace atalaya::proc
