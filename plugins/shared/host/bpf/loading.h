// SPDX-License-Identifier: Apache-2.0
// Shared by plugins with BPF programs: checks whether such programs can run here.
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

// Whether a BPF program that reads processes can work here, checked before loading.
core::Status check();

// libbpf prints messages by one function for the whole process. The first line of a failure names the cause, later lines its
// effects. capture_messages starts to keep that first line; take_message returns and clears it.
void capture_messages();
std::string take_message();

}  // namespace atalaya::bpf
