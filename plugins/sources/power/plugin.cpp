// SPDX-License-Identifier: Apache-2.0
// The source "power": energy, power, temperatures, frequencies and idle states of CPUs, boards, batteries and GPUs.
#include <atalaya/plugin.hpp>

#include <array>
#include <string>

#include "plugins/sources/power/collector.h"
#include "plugins/sources/power/power_metrics.h"

namespace atalaya::power {
namespace {

Options options_of(const Host &host) {
  return {.root = host.text("root"),
          .rapl = host.text("rapl"),
          .msr = host.boolean("msr"),
          .cstates = host.boolean("cstates"),
          .interrupts = host.boolean("interrupts"),
          .sensors = host.boolean("sensors"),
          .ipmi = host.boolean("ipmi"),
          .gpus = host.boolean("gpus"),
          .nvml = host.text("nvml"),
          .model = model_of(host)};
}

class Power final : public CollectingSource<Collector> {
 public:
  static constexpr Param params[] = {
      param::string("root", "Folder that holds sys, proc and dev: the host's root in a container, or a recorded tree")
          .defaults("/"),
      param::choice("rapl", "auto|powercap|msr|off",
                    "Energy from powercap or MSRs; auto: the first that works; AMD cores: MSRs only")
          .defaults("auto"),
      param::boolean("msr", "Busy frequency, C-states and throttling from the MSRs of Intel and AMD CPUs").defaults("true"),
      param::boolean("cstates", "Emit a sample per idle state of each CPU").defaults("true"),
      param::boolean("interrupts", "Emit interrupts per CPU; on large hosts reading /proc/interrupts takes milliseconds")
          .defaults("false"),
      param::boolean("sensors", "Temperatures, power, fans and batteries from hwmon, thermal zones and power supplies")
          .defaults("true"),
      param::boolean("ipmi", "Power measured by the board's management controller (DCMI)").defaults("true"),
      param::boolean("gpus", "NVIDIA GPUs and their processes").defaults("true"),
      param::string("nvml", "NVIDIA's management library: a path, or a name for the loader").defaults("libnvidia-ml.so.1"),
      kModelParam,
  };
  // All are optional and independent of each other.
  static constexpr Need needs[] = {
      need::optional_file("/sys/class/powercap/intel-rapl:0", "no package energy, except from MSRs", "rapl"),
      need::optional_capability("CAP_DAC_READ_SEARCH", "no package energy: since Linux 5.10 only root reads it", "rapl"),
      need::optional_file("/dev/cpu/0/msr",
                          "no busy frequency, measured C-states, throttling or energy of AMD cores; load the module msr", "msr"),
      need::optional_capability("CAP_SYS_RAWIO", "same effect as missing /dev/cpu/0/msr", "msr"),
      need::optional_capability("CAP_DAC_READ_SEARCH", "same effect as missing /dev/cpu/0/msr", "msr"),
      need::optional_file("/dev/ipmi0", "no host power from the board; load the module ipmi_devintf", "ipmi"),
      need::optional_capability("CAP_DAC_READ_SEARCH", "same effect as missing /dev/ipmi0", "ipmi"),
      need::optional_file("/sys/class/hwmon/hwmon0", "no temperatures, fans and meters of drivers", "sensors"),
      need::optional_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "no sys.cpu.mhz", "frequency"),
      need::optional_file("/sys/devices/system/cpu/cpu0/cpuidle/state0", "no sys.cpu.cstate", "cstates"),
      need::optional_file("/dev/nvidiactl", "no NVIDIA GPUs", "gpu"),
  };
  static constexpr Description description = {.name = "power"_str,
                                              .summary = "Energy, power, temperature, frequency and idle states; GPUs"_str,
                                              .params = params,
                                              .metrics = kPowerMetrics,
                                              .needs = needs,
                                              .flags = ATALAYA_BLOCKING};

  explicit Power(Host host) : CollectingSource(host, options_of(host)) {}
};

}  // namespace
}  // namespace atalaya::power

ATALAYA_PLUGIN("power", "0.1.0", "source power", atalaya::power::Power)
