// SPDX-License-Identifier: Apache-2.0
// Checks whether BPF programs can run on this host, and reports libbpf's messages.
#pragma once

#include <bpf/libbpf.h>

#include <memory>
#include <string>

#include "core/base/result.h"

namespace atalaya::bpf {

struct LinkDeleter {
  void operator()(bpf_link *link) const { bpf_link__destroy(link); }
};
using Link = std::unique_ptr<bpf_link, LinkDeleter>;

// Whether a BPF program that reads processes can run on this host. Call it before loading.
core::Status check();

// libbpf calls one print function for the whole process. The first line of a failure states the cause, later lines its effects.
// capture_messages installs a function that stores the first line; take_message returns and clears it.
void capture_messages();
std::string take_message();

}  // namespace atalaya::bpf
