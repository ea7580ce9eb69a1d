// SPDX-License-Identifier: Apache-2.0
// Replaces bpf_marks.cpp in a build without BPF.
#include "plugins/sources/kernel/marks.h"

namespace atalaya::kernel {

core::Result<std::unique_ptr<Marks>> open_marks() {
  return core::Error{"this build has no BPF programs; build with clang, bpftool and libbpf"};
}

}  // namespace atalaya::kernel
