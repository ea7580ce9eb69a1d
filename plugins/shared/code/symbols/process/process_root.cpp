// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/symbols/process/process_root.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace atalaya::symbols {

ProcessRoot::ProcessRoot(int32_t pid)
    : folder_(::open(("/proc/" + std::to_string(pid) + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

core::Descriptor ProcessRoot::open(const std::string &path, int flags, unsigned mode) const {
  static constexpr int kAttempts = 8;  // EAGAIN: a component of the path was renamed during the call
  open_how how{};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
  how.mode = mode;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  long file = -1;
  for (int i = 0; i < kAttempts; ++i) {
    file = ::syscall(SYS_openat2, folder_.get(), path.c_str(), &how, sizeof(how));
    if (file >= 0 || errno != EAGAIN) break;
  }
  return core::Descriptor(static_cast<int>(file));
}

core::Descriptor ProcessRoot::open_regular(const std::string &path) const {
  return reopened_if_regular(open(path, O_PATH));
}

core::Descriptor reopened_if_regular(const core::Descriptor &found) {
  struct stat info {};
  if (!found || ::fstat(found.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  const std::string same = "/proc/self/fd/" + std::to_string(found.get());
  return core::Descriptor(::open(same.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

core::Descriptor open_regular(const std::string &path) {
  return reopened_if_regular(core::Descriptor(::open(path.c_str(), O_PATH | O_CLOEXEC)));
}

}  // namespace atalaya::symbols
