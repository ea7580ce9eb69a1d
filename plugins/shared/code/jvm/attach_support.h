// SPDX-License-Identifier: Apache-2.0
// Checks whether a JVM accepts attach commands, before it is signalled: a JVM that does not treat SIGQUIT as an attach request
// prints its thread stacks on its standard output.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plugins/shared/code/symbols/process/process_mark.h"
#include "plugins/shared/code/symbols/process/process_root.h"

namespace atalaya::jvm {

struct AttachSupport {
  int version = 0;                 // 8, 17; 0: unknown
  bool accepts_commands = true;    // not -XX:+DisableAttachMechanism
  bool options_truncated = false;  // hsperfdata has only the first options
};

// Parses the bytes of hsperfdata_USER/PID. Pure.
AttachSupport parse_attach_support(std::string_view shared);
// Whether these options disable the attach mechanism. Pure.
bool disables_attach(std::string_view options);
// The path of a JVM's hsperfdata file in the text of /proc/PID/maps; "" if there is none. `inner_pid`: in the JVM's namespace.
// Pure.
std::string_view shared_path_in(std::string_view maps, int32_t inner_pid);

// Reads the hsperfdata file of a process. Nothing if the JVM shares no counters, or the file is not readable.
std::optional<AttachSupport> read_attach_support(int32_t pid, const symbols::ProcessStatus &status,
                                                 const symbols::ProcessRoot &root);

}  // namespace atalaya::jvm
