// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.h>

namespace atalaya::core {

class LocalInstance;

// The table of host functions for an instance. They throw no C++ exceptions.
atalaya_host host_functions(LocalInstance *instance);

}  // namespace atalaya::core
