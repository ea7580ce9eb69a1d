// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/probes/links.h"

#include <bpf/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "core/base/files.h"
#include "plugins/shared/host/bpf/loading.h"

namespace atalaya::probes {
namespace {

// 89ae89f53d20. Debian 12's headers and libbpf lack it.
constexpr auto kTraceUprobeMulti = static_cast<bpf_attach_type>(48);
constexpr uint32_t kReturn = 1;  // BPF_F_UPROBE_MULTI_RETURN

struct MultiLink {  // as in bpf_attr
  uint32_t program, target, type, flags;
  uint64_t path, offsets, counters, cookies;
  uint32_t count, of_probes, pid, unused;
};
static_assert(sizeof(MultiLink) == 64);

// Invalid on error, with errno set.
core::Descriptor create_multi(const bpf_program *program, uint32_t region, const char *path, uint64_t offset, bool returns) {
  const uint64_t cookie = region;
  MultiLink link{};
  link.program = static_cast<uint32_t>(bpf_program__fd(program));
  link.type = kTraceUprobeMulti;
  link.path = reinterpret_cast<uint64_t>(path);
  link.offsets = reinterpret_cast<uint64_t>(&offset);
  link.cookies = reinterpret_cast<uint64_t>(&cookie);
  link.count = 1;
  link.of_probes = returns ? kReturn : 0;
  return core::Descriptor(static_cast<int>(::syscall(SYS_bpf, BPF_LINK_CREATE, &link, sizeof(link))));
}

struct Probe {  // one of the two
  core::Descriptor multi;
  bpf::Link event;
  explicit operator bool() const { return multi || event; }
};

class Links final : public Attachment {
 public:
  Links(Probe enter, Probe leave) : leave_(std::move(leave)), enter_(std::move(enter)) {}

 private:
  Probe leave_, enter_;  // destroyed in reverse order: a begin without its end would count as an orphan
};

// Empty on error, with errno set.
Probe probe(const bpf_program *program, bool multi, uint32_t region, const std::string &path, uint64_t offset, bool returns) {
  if (multi) return {create_multi(program, region, path.c_str(), offset, returns), nullptr};
  bpf_uprobe_opts options{};
  options.sz = sizeof(options);
  options.bpf_cookie = region;
  options.retprobe = returns;
  return {core::Descriptor(), bpf::Link(bpf_program__attach_uprobe_opts(program, -1, path.c_str(), offset, &options))};
}

std::string refusal(int error, bool multi) {
  std::string text = "the kernel rejected the probe: " + core::error_text(error);
  if (error == EPERM || error == EACCES)
    text += multi ? "; run as root or grant CAP_BPF and CAP_PERFMON" : "; before Linux 6.6, run as root or grant CAP_SYS_ADMIN";
  if (error == ENOTSUP || error == EINVAL || error == ENOSYS)
    text += "; it cannot single-step the instruction there, or has no uprobes (CONFIG_UPROBE_EVENTS)";
  return text;
}

}  // namespace

void use_multi(const Programs &programs) {
  for (bpf_program *program : {programs.enters, programs.leaves, programs.returns})
    bpf_program__set_expected_attach_type(program, kTraceUprobeMulti);
}

// A kernel with these links rejects a directory with EBADF; other kernels reject the request itself.
bool supports_multi(const Programs &programs) {
  const core::Descriptor none = create_multi(programs.enters, 0, "/", 0, false);
  return !none && errno == EBADF;
}

// The end first: a begin without its end would count as an orphan.
core::Result<std::unique_ptr<Attachment>> attach(const Programs &programs, bool multi, uint32_t region, int file,
                                                 const Points &points) {
  const std::string path = "/proc/self/fd/" + std::to_string(file);  // this file, even if its name now belongs to another one
  const bool by_return = !points.leave;
  bpf::take_message();
  Probe leave = probe(by_return ? programs.returns : programs.leaves, multi, region, path, by_return ? points.enter : *points.leave,
                      by_return);
  if (!leave) return core::Error{refusal(errno, multi)};
  Probe enter = probe(programs.enters, multi, region, path, points.enter, false);
  if (!enter) return core::Error{refusal(errno, multi)};
  return std::unique_ptr<Attachment>(std::make_unique<Links>(std::move(enter), std::move(leave)));
}

}  // namespace atalaya::probes
