// SPDX-License-Identifier: Apache-2.0
// Replaces bpf_sampler.cpp in a build without BPF.
#include "plugins/sources/perf/sampling/sampler.h"

namespace atalaya::perf {

core::Result<std::unique_ptr<Sampler>> open_bpf_sampler(const SamplerOptions & /*options*/) {
  return core::Error{"this build has no BPF programs; build with clang, bpftool and libbpf"};
}

}  // namespace atalaya::perf
