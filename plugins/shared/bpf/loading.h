// SPDX-License-Identifier: Apache-2.0
// What plugins with programs in the kernel share: whether such programs can run here, and why not.
#pragma once

#include <bpf/libbpf.h>

#include <memory>
#include <string>

namespace atalaya::bpf {

struct LinkDeleter {
  void operator()(bpf_link *link) const { bpf_link__destroy(link); }
};
using Link = std::unique_ptr<bpf_link, LinkDeleter>;

// Why no program that looks at processes can work here, before anything is loaded; else an empty text.
std::string obstacle();

// libbpf prints what it has to say, by one function for the whole process; the first line of a failure names the cause, the others what
// it led to. From listen on that first line is kept; take_words gives and forgets it.
void listen();
std::string take_words();

}  // namespace atalaya::bpf
