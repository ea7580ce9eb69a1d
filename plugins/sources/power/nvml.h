// SPDX-License-Identifier: Apache-2.0
// Declarations of NVIDIA's management library (NVML API Reference Guide), limited to the used
// functions and members. The library is loaded when the source starts, so nothing links it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace atalaya::power {

struct GpuReading {
  std::string name;  // index of the GPU, as in nvidia-smi
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

  // Loads the library. It is never unloaded, because it has run code.
  core::Status open(const std::string &library);
  void close();
  bool is_open() const { return open_; }

  std::vector<GpuReading> read();
  // Returns the processes of all GPUs with their usage since the last call.
  std::vector<GpuProcess> read_processes();

 private:
  using Device = void *;
  struct Functions;
  struct Gpu {
    Device device = nullptr;
    std::string name;
    uint64_t seen_us = 0;  // time of the newest usage sample
  };

  GpuReading read_one(const Gpu &gpu) const;
  void add_memory(const Gpu &gpu, std::vector<GpuProcess> &processes) const;
  void add_usage(Gpu &gpu, std::vector<GpuProcess> &processes) const;

  std::unique_ptr<Functions> functions_;
  bool open_ = false;
  std::vector<Gpu> gpus_;
};

}  // namespace atalaya::power
