// SPDX-License-Identifier: Apache-2.0
// Model-specific registers of x86 CPUs, behind an interface for tests.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "core/base/files.h"
#include "plugins/shared/host/procfs/tree.h"

namespace atalaya::power {

class Msr {
 public:
  virtual ~Msr() = default;
  // Reads a register. Absent if the CPU lacks it or it cannot be read.
  virtual std::optional<uint64_t> read(int32_t cpu, uint32_t address) = 0;
};

// Reads /dev/cpu/N/msr of the kernel module msr.
class DeviceMsr final : public Msr {
 public:
  explicit DeviceMsr(const procfs::Tree &tree) : tree_(tree) {}
  std::optional<uint64_t> read(int32_t cpu, uint32_t address) override;

 private:
  const procfs::Tree &tree_;
  std::mutex mutex_;  // a meter reads registers also between windows, on another thread
  std::map<int32_t, core::Descriptor> devices_;
};

// The bits `low` to `high` of a register.
constexpr uint64_t bits(uint64_t value, unsigned low, unsigned high) {
  return value >> low & ((uint64_t{1} << (high - low + 1)) - 1);
}

}  // namespace atalaya::power
