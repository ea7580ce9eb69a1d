// SPDX-License-Identifier: Apache-2.0
// Replaces bpf_backend.cpp in a build without BPF.
#include "plugins/sources/proc/process/process_backend.h"

namespace atalaya::proc {

core::Result<std::unique_ptr<ProcessBackend>> open_bpf_backend(BpfOptions /*options*/) {
  return core::Error{"this build has no BPF programs; build with clang, bpftool and libbpf"};
}

}  // namespace atalaya::proc
