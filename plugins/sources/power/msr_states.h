// SPDX-License-Identifier: Apache-2.0
// Reads model-specific registers of x86 CPUs: busy frequency, C-states of cores and packages,
// temperature, throttling. Energy registers are read elsewhere.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "plugins/shared/host/power/cpu_model.h"
#include "plugins/shared/host/power/msr.h"
#include "plugins/shared/host/procfs/cpus.h"
#include "plugins/shared/host/procfs/host_counters.h"
#include "plugins/sources/power/output.h"

namespace atalaya::power {

class MsrStates {
 public:
  explicit MsrStates(Msr &msr) : msr_(msr) {}

  // Sets the CPUs to read; CPUs that were read before keep their state. Returns false if the time stamp counter is unreadable.
  bool follow(const std::vector<procfs::Cpu> &cpus, const CpuModel &model);
  void forget();
  // `temperatures`: also read core temperatures of Intel CPUs, for hosts without a driver that shows them.
  void collect(int64_t now_ns, bool temperatures, Output &out);

 private:
  struct Core {
    procfs::Count tsc, mperf, aperf, smi, c1, c3, c6, c7;
  };
  struct Package {
    procfs::Count tsc, pc2, pc3, pc6, pc7, pc8, pc9, pc10, c0_total, c0_any, c0_graphics, c0_both, throttled, memory_throttled;
  };
  struct CpuState {
    procfs::Cpu cpu;
    procfs::Last<Core> core;
    procfs::Last<Package> package;
    std::optional<int64_t> max_celsius;  // temperature in degrees Celsius at which the CPU is throttled
  };

  procfs::Count counter(int32_t cpu, uint32_t address);
  Core read_core(const procfs::Cpu &cpu);
  Package read_package(const procfs::Cpu &cpu);
  void emit_core(const procfs::Cpu &cpu, const procfs::Readings<Core> &core, Output &out);
  void emit_package(const procfs::Cpu &cpu, const procfs::Readings<Package> &package, Output &out);
  void emit_temperatures(const CpuState &state, Output &out);

  Msr &msr_;
  bool intel_ = false;
  double throttle_unit_s_ = 0;  // seconds per count of the throttling register
  std::vector<CpuState> cpus_;
};

}  // namespace atalaya::power
