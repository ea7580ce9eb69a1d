// SPDX-License-Identifier: Apache-2.0
// What has to be known of a JVM before it is signalled: one that does not take the signal as a call prints the stacks of its
// threads on its standard output.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plugins/shared/symbols/process_mark.h"
#include "plugins/shared/symbols/process_root.h"

namespace atalaya::jvm {

struct Facts {
  int version = 0;          // 8, 17; 0: unknown
  bool takes_calls = true;  // not -XX:+DisableAttachMechanism
  bool is_cut = false;      // there are more options than the JVM says
};

// From the bytes of hsperfdata_USER/PID. Pure.
Facts parse_facts(std::string_view shared);
// Whether these options keep a JVM from taking calls. Pure.
bool is_refused_in(std::string_view options);
// The path of the file that a JVM with this number shares, in /proc/PID/maps; empty: there is none. Pure.
std::string_view shared_path_in(std::string_view maps, int32_t inner_pid);

// Nothing: it shares nothing, or not with this process.
std::optional<Facts> read_facts(int32_t pid, const symbols::ProcessStatus &status, const symbols::ProcessRoot &root);

}  // namespace atalaya::jvm
