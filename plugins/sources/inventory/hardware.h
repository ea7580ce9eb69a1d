// SPDX-License-Identifier: Apache-2.0
// What the kernel says of the machine that it runs on: processors, memory, disks, interfaces, and itself.
#pragma once

#include "plugins/shared/procfs/tree.h"
#include "plugins/sources/inventory/facts.h"

namespace atalaya::inventory {

void read_machine(const core::Tree &tree, Facts &facts);     // machine.*, of the firmware
void read_system(const core::Tree &tree, Facts &facts);      // os.*, kernel.*
void read_processors(const core::Tree &tree, Facts &facts);  // cpu.*
void read_memory(const core::Tree &tree, Facts &facts);      // memory.*, numa.*
void read_disks(const core::Tree &tree, Facts &facts);       // disk.NAME.*
void read_interfaces(const core::Tree &tree, Facts &facts);  // net.NAME.*, those with hardware or a driver of their own behind them

}  // namespace atalaya::inventory
