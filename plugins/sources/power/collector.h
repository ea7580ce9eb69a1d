// SPDX-License-Identifier: Apache-2.0
// One window: every part that works here, and of what they say the power of the host.
#pragma once

#include <atalaya/plugin.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugins/shared/power/model.h"
#include "plugins/shared/power/open_meter.h"
#include "plugins/sources/power/cpu_states.h"
#include "plugins/sources/power/ipmi.h"
#include "plugins/sources/power/msr_states.h"
#include "plugins/sources/power/nvml.h"
#include "plugins/sources/power/output.h"
#include "plugins/sources/power/sensors.h"

namespace atalaya::power {

struct Options {
  std::string root = "/", rapl = "auto";
  bool msr = true, cstates = true, interrupts = false, sensors = true, ipmi = true, gpus = true;
  std::string nvml = "libnvidia-ml.so.1";
  std::optional<Model> model;
};

class Collector {
 public:
  // Tests bring recorded registers and a recorded controller; else they are those of the tree.
  Collector(Host host, Options options, std::unique_ptr<Msr> msr = nullptr, std::unique_ptr<Ipmi> ipmi = nullptr);

  void start();
  void stop();
  void collect(const Window &window, Batch &batch);

 private:
  // What measures the power of the host: of all that do in a window the first.
  struct HostPower {
    std::optional<double> ipmi, meter, platform, battery, packages;
  };
  struct EnergyCount {
    proc::Count millijoules;
  };

  void follow_cpus();
  void follow_cpus(const std::vector<cpus::Cpu> &cpus);
  void tell_absent();
  void open_ipmi();
  void tell(const std::string &what_is_absent, Level level = Level::info);
  void forget();
  void collect_energy(const Window &window, int64_t now_ns);
  void emit_energy(const std::vector<std::optional<Energy>> &energy);
  void emit_power();
  void collect_gpus(int64_t now_ns, bool baseline);

  Host host_;
  Options options_;
  Output out_;
  core::Tree tree_;
  cpus::CpuWatch cpu_watch_;
  std::unique_ptr<Msr> msr_;
  std::unique_ptr<Ipmi> ipmi_;
  bool own_ipmi_;  // not a test's
  bool ipmi_answers_ = false;
  std::unique_ptr<EnergyMeter> meter_;
  bool still_told_ = false;
  std::unique_ptr<BusyTime> busy_;  // for the model
  CpuStates cpu_states_;
  MsrStates msr_states_;
  bool msr_works_ = false;
  Sensors sensors_;
  Nvml nvml_;
  proc::History<EnergyCount> gpu_energy_;
  HostPower power_;
};

}  // namespace atalaya::power
