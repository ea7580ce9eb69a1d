// SPDX-License-Identifier: Apache-2.0
// Collects all parts that this host supports, and computes the host's power from the best
// meter.
#pragma once

#include <atalaya/plugin.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugins/shared/host/power/model.h"
#include "plugins/shared/host/power/open_meter.h"
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
  // Tests pass recorded registers and a recorded controller; null: the devices below the root are used.
  Collector(Host host, Options options, std::unique_ptr<Msr> msr = nullptr, std::unique_ptr<Ipmi> ipmi = nullptr);

  void start();
  void stop();
  void collect(const Window &window, Batch &batch);

 private:
  // Readings of the host's power meters, best first; the first with a value in the window is reported.
  struct HostPower {
    std::optional<double> ipmi, meter, platform, battery, packages;
  };
  struct EnergyCount {
    procfs::Count millijoules;
  };

  void follow_cpus();
  void follow_cpus(const std::vector<procfs::Cpu> &cpus);
  void log_missing_parts();
  void open_ipmi();
  void log_missing(const std::string &text, Level level = Level::info);
  void forget();
  void collect_energy(const Window &window, int64_t now_ns);
  void emit_energy(const std::vector<std::optional<Energy>> &energy);
  void emit_power();
  void collect_gpus(int64_t now_ns, bool baseline);

  Host host_;
  Options options_;
  Output out_;
  procfs::Tree tree_;
  procfs::CpuWatch cpu_watch_;
  std::unique_ptr<Msr> msr_;
  std::unique_ptr<Ipmi> ipmi_;
  bool opens_ipmi_;  // false: a test passed the controller
  bool ipmi_works_ = false;
  std::unique_ptr<EnergyMeter> meter_;
  bool stopped_logged_ = false;
  std::unique_ptr<BusyTime> busy_;  // input of the power model
  CpuStates cpu_states_;
  MsrStates msr_states_;
  bool msr_works_ = false;
  Sensors sensors_;
  Nvml nvml_;
  procfs::History<EnergyCount> gpu_energy_;
  HostPower power_;
};

}  // namespace atalaya::power
