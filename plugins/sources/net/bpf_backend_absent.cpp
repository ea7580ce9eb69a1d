// SPDX-License-Identifier: Apache-2.0
// Replaces bpf_backend.cpp in a build without BPF.
#include "plugins/sources/net/backend.h"

namespace atalaya::net {

core::Result<std::unique_ptr<Backend>> open_bpf_backend(const BackendOptions & /*options*/) {
  return core::Error{"this build has no BPF programs; build with clang, bpftool and libbpf"};
}

}  // namespace atalaya::net
