// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/bpf/loading.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string_view>
#include <utility>

namespace atalaya::bpf {
namespace {

std::mutex message_mutex;
std::string first_message;
int keep_message(libbpf_print_level level, const char *format, va_list arguments) {
  if (level != LIBBPF_WARN) return 0;
  std::array<char, 512> line{};
  const int size = std::vsnprintf(line.data(), line.size(), format, arguments);
  std::string text(line.data(), std::min(line.size() - 1, static_cast<size_t>(std::max(size, 0))));
  text.erase(text.find_last_not_of(" \n") + 1);
  const std::lock_guard lock(message_mutex);
  if (first_message.empty()) first_message = text.substr(0, text.find('\n'));
  return 0;
}

// The name of the missing capability; empty if none is missing.
std::string missing_capability() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) return {};
  const auto has = [&](unsigned capability) { return (data[capability / 32].effective >> capability % 32 & 1) != 0; };
  if (has(CAP_SYS_ADMIN)) return {};
  if (!has(CAP_BPF)) return "CAP_BPF";
  if (!has(CAP_PERFMON)) return "CAP_PERFMON";
  return {};
}

}  // namespace

core::Status check() {
  std::array<char, 64> space{};
  const ssize_t size = ::readlink("/proc/self/ns/pid", space.data(), space.size() - 1);
  // The inode of the host's pid namespace, PROC_PID_INIT_INO of include/linux/proc_ns.h.
  if (size > 0 && std::string_view(space.data()) != "pid:[4026531836]")
    return core::Error{
        "the agent runs in its own pid namespace, where pids differ from the kernel's; run it in the host's pid namespace"};
  if (const std::string missing = missing_capability(); !missing.empty())
    return core::Error{missing + " is missing; run as root or add it"};
  if (::access("/sys/kernel/btf/vmlinux", R_OK) != 0)
    return core::Error{"the kernel has no type information at /sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF)"};
  return core::Done{};
}

void capture_messages() {
  libbpf_set_print(keep_message);
}

std::string take_message() {
  const std::lock_guard lock(message_mutex);
  return std::exchange(first_message, {});
}

}  // namespace atalaya::bpf
