// SPDX-License-Identifier: Apache-2.0
// Disks and interfaces that stand on others: a volume of LVM on its disk, a bridge on its interface.
#pragma once

#include <vector>

#include "plugins/shared/store/store.h"

namespace atalaya::bottleneck {

// What goes through both is to count once: leaves out those that stand on others, by their names and host by host, where another
// one of the host is told.
void remove_layered_devices(std::vector<store::Series> &series);

}  // namespace atalaya::bottleneck
