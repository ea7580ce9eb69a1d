// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace atalaya::jvm {

// The name of a class as it is in every JVM: without what tells a lambda's or a hidden class' copies apart, which a JVM numbers as
// they come. "T$$Lambda$14/0x00007f7a30000a08" and "T$$Lambda/0x00007f" are "T$$Lambda"; "T/0x0000000800c03000" is "T". A part of
// `name`.
std::string_view plain_type(std::string_view name);

}  // namespace atalaya::jvm
