// SPDX-License-Identifier: Apache-2.0
// Reads facts from /sys and /proc: machine, processors, memory, disks, interfaces and the
// kernel.
#pragma once

#include "plugins/shared/host/procfs/tree.h"
#include "plugins/sources/inventory/facts.h"

namespace atalaya::inventory {

void read_machine(const procfs::Tree &tree, Facts &facts);     // machine.*, from the firmware tables
void read_system(const procfs::Tree &tree, Facts &facts);      // os.*, kernel.*
void read_processors(const procfs::Tree &tree, Facts &facts);  // cpu.*
void read_memory(const procfs::Tree &tree, Facts &facts);      // memory.*, numa.*
void read_disks(const procfs::Tree &tree, Facts &facts);       // disk.NAME.*
void read_interfaces(const procfs::Tree &tree, Facts &facts);  // net.NAME.*, only interfaces with a device

}  // namespace atalaya::inventory
