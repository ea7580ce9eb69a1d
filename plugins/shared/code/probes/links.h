// SPDX-License-Identifier: Apache-2.0
// Attaches BPF programs to the start and end of regions.
#pragma once

#include <bpf/libbpf.h>

#include <cstdint>
#include <memory>

#include "core/base/result.h"
#include "plugins/shared/code/probes/attachment.h"
#include "plugins/shared/code/probes/regions.h"

namespace atalaya::probes {

// The BPF programs of a region: `enters` at its start; at its end `returns` (the function returns) or `leaves` (another place).
// Their cookie is the region's number.
struct Programs {
  bpf_program *enters = nullptr, *returns = nullptr, *leaves = nullptr;
};

// Linux 6.6 and later have multi-uprobe links, which require CAP_BPF and CAP_PERFMON. Before, uprobes are perf events, which
// require CAP_SYS_ADMIN. A program must be loaded for one of the two.
void use_multi(const Programs &programs);       // before they are loaded
bool supports_multi(const Programs &programs);  // call it after they were loaded for multi-uprobe links

// Attaches the programs to the open file `file`, which may be closed afterwards.
core::Result<std::unique_ptr<Attachment>> attach(const Programs &programs, bool multi, uint32_t region, int file,
                                                 const Points &points);

}  // namespace atalaya::probes
