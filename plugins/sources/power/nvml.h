// SPDX-License-Identifier: Apache-2.0
// NVIDIA's management library, declared as in its documentation (NVML API Reference Guide) and loaded when the source starts, so
// that nothing is linked. Only the functions and members that are used.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace atalaya::power {

struct GpuReading {
  std::string name;  // its number, as in nvidia-smi
  std::optional<double> usage, memory_usage, power, temperature, memory_total_mib, memory_used_mib;
  std::optional<uint64_t> energy_mj;
};
struct GpuProcess {
  std::string gpu;
  uint32_t pid = 0;
  std::optional<double> usage, memory_mib;
};

class Nvml {
 public:
  Nvml();
  Nvml(const Nvml &) = delete;
  Nvml &operator=(const Nvml &) = delete;
  ~Nvml();

  // The library stays loaded: it has run code.
  core::Status open(const std::string &library);
  void close();
  bool is_open() const { return open_; }

  std::vector<GpuReading> read();
  // Of all GPUs; usage since the last call.
  std::vector<GpuProcess> read_processes();

 private:
  using Device = void *;
  struct Functions;
  struct Gpu {
    Device device = nullptr;
    std::string name;
    uint64_t seen_us = 0;  // the newest sample of usage
  };

  GpuReading read_one(const Gpu &gpu) const;
  void add_memory(const Gpu &gpu, std::vector<GpuProcess> &processes) const;
  void add_usage(Gpu &gpu, std::vector<GpuProcess> &processes) const;

  std::unique_ptr<Functions> functions_;
  bool open_ = false;
  std::vector<Gpu> gpus_;
};

}  // namespace atalaya::power
