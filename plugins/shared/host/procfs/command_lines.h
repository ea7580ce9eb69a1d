// SPDX-License-Identifier: Apache-2.0
// Command lines as values of a tag: selects processes, hides secrets in arguments.
#pragma once

#include <string>
#include <string_view>

#include "plugins/shared/io/match/matcher.h"

namespace atalaya::procfs {

// The text of /proc/PID/cmdline as one line: arguments separated by blanks, without control characters, at most 1024 bytes. "***"
// replaces actual and possible secrets; after the name of a secret, it replaces the rest of the argument. `cut`: the text may end
// within its last argument, which is then left out. `redact` selects further arguments to replace.
std::string redacted_command(std::string_view text, bool cut, const io::MatcherList &redact);

struct CommandLines {
  io::MatcherList allow;   // names of processes whose command lines are emitted; empty: none
  io::MatcherList redact;  // arguments to replace; of an option, its value

  bool allows(std::string_view process) const { return !allow.empty() && allow.matches(process); }
};

}  // namespace atalaya::procfs
