// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.h>

namespace atalaya::core {

class LocalInstance;

// The table of host services that an instance gets. No C++ exception leaves any of them.
atalaya_host host_functions(LocalInstance *instance);

}  // namespace atalaya::core
