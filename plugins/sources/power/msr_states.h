// SPDX-License-Identifier: Apache-2.0
// What the registers of x86 CPUs say beside energy: busy frequency, C-states of cores and packages, temperature, throttling.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "plugins/shared/procfs/cpus.h"
#include "plugins/shared/power/cpu_model.h"
#include "plugins/shared/power/msr.h"
#include "plugins/sources/power/output.h"
#include "plugins/shared/procfs/host_counters.h"

namespace atalaya::power {

class MsrStates {
 public:
  explicit MsrStates(Msr &msr) : msr_(msr) {}

  // Of these CPUs from now on; those of them that were there before go on. False when not even the time stamp counter can be read.
  bool follow(const std::vector<cpus::Cpu> &cpus, const CpuModel &model);
  void forget();
  // `temperatures`: those of Intel's cores too, where no driver shows them.
  void collect(int64_t now_ns, bool temperatures, Output &out);

 private:
  struct Core {
    proc::Count tsc, mperf, aperf, smi, c1, c3, c6, c7;
  };
  struct Package {
    proc::Count tsc, pc2, pc3, pc6, pc7, pc8, pc9, pc10, c0_total, c0_any, c0_graphics, c0_both, throttled, memory_throttled;
  };
  struct CpuState {
    cpus::Cpu cpu;
    proc::Last<Core> core;
    proc::Last<Package> package;
    std::optional<int64_t> hottest;  // degrees Celsius at which it is slowed down
  };

  proc::Count counter(int32_t cpu, uint32_t address);
  Core read_core(const cpus::Cpu &cpu);
  Package read_package(const cpus::Cpu &cpu);
  void emit_core(const cpus::Cpu &cpu, const proc::Readings<Core> &core, Output &out);
  void emit_package(const cpus::Cpu &cpu, const proc::Readings<Package> &package, Output &out);
  void emit_temperatures(const CpuState &state, Output &out);

  Msr &msr_;
  bool intel_ = false;
  double seconds_of_throttling_ = 0;  // of one count
  std::vector<CpuState> cpus_;
};

}  // namespace atalaya::power
