// SPDX-License-Identifier: Apache-2.0
// Command lines as a tag: selects processes, and hides secrets in arguments.
#pragma once

#include <string>
#include <string_view>

#include "plugins/shared/io/match/matcher.h"

namespace atalaya::procfs {

// The text of /proc/PID/cmdline on one line: arguments with a blank between them, no control characters, at most 1024 bytes; "***"
// replaces actual and possible secrets. It hides too much rather than too little: after the name of a secret, the rest of the
// argument. `cut`: the text may end within an argument, which is omitted then. `redact` selects further arguments.
std::string redacted_command(std::string_view text, bool cut, const io::MatcherList &redact);

struct CommandLines {
  io::MatcherList allow;   // the kernel's names of processes; empty: none
  io::MatcherList redact;  // arguments to hide; of an option, its value

  bool allows(std::string_view process) const { return !allow.empty() && allow.matches(process); }
};

}  // namespace atalaya::procfs
