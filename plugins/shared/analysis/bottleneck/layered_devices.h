// SPDX-License-Identifier: Apache-2.0
// Disks and interfaces on top of others: an LVM volume on its disk, a bridge on its interface.
#pragma once

#include <vector>

#include "plugins/shared/store/store.h"

namespace atalaya::bottleneck {

// Removes devices on top of others, by name and host by host, if the host has another one: the same traffic must count once.
void remove_layered_devices(std::vector<store::Series> &series);

}  // namespace atalaya::bottleneck
