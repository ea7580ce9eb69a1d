// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace atalaya::tests {

// For a test whose BPF programs or perf events cannot be opened. Root may open them, so for root this is a failure: a fault of our
// own program must not look like a test that passed. ATALAYA_NO_BPF=1 declares that this kernel has none.
inline void skip_without_bpf(const std::string &reason) {
  if (::geteuid() == 0 && std::getenv("ATALAYA_NO_BPF") == nullptr) FAIL(reason);
  MESSAGE("skipped: " << reason);
}

}  // namespace atalaya::tests
