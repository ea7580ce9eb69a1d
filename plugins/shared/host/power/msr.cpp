// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/power/msr.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>

namespace atalaya::power {

std::optional<uint64_t> DeviceMsr::read(int32_t cpu, uint32_t address) {
  const std::lock_guard lock(mutex_);
  core::Descriptor &device = devices_[cpu];
  if (!device)
    device = core::Descriptor(
        ::openat(tree_.folder(), ("dev/cpu/" + std::to_string(cpu) + "/msr").c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  uint64_t value = 0;
  if (!device || ::pread(device.get(), &value, sizeof(value), static_cast<off_t>(address)) != sizeof(value)) return std::nullopt;
  return value;
}

}  // namespace atalaya::power
