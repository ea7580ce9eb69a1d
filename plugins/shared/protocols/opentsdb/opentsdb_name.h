// SPDX-License-Identifier: Apache-2.0
// Converts any bytes to a name with OpenTSDB's characters (A-Z a-z 0-9 - _ . /), and back. Any other byte is written as '_' and
// two upper-case hexadecimal digits; so is a '_' before two such digits. Usual names are unchanged:
//   java_home -> java_home     kworker/0:1 -> kworker/0_3A1     GC Thread#0 -> GC_20Thread_230     proc_AB -> proc_5FAB
#pragma once

#include <string>
#include <string_view>

namespace atalaya::protocols {

void append_opentsdb_name(std::string &out, std::string_view text);
std::string from_opentsdb_name(std::string_view name);

}  // namespace atalaya::protocols
