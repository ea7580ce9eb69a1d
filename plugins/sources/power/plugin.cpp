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

class Power final : public Source {
 public:
  static constexpr std::array params = {
      Param{.name = "root"_str,
            .type = ATALAYA_STRING,
            .default_text = "/"_str,
            .summary =
                "The folder that holds sys, proc and dev: another machine's recorded tree, or the host's root in a container."_str},
      Param{
          .name = "rapl"_str,
          .type = ATALAYA_ENUM,
          .default_text = "auto"_str,
          .allowed = "auto|powercap|msr|off"_str,
          .summary =
              "Where energy is read: by the kernel's powercap, by registers, or the first that works; AMD's cores by registers only."_str},
      Param{.name = "msr"_str,
            .type = ATALAYA_BOOL,
            .default_text = "true"_str,
            .summary = "Busy frequency, C-states and throttling from the registers of Intel and AMD CPUs."_str},
      Param{.name = "cstates"_str,
            .type = ATALAYA_BOOL,
            .default_text = "true"_str,
            .summary = "A sample of each idle state of each CPU."_str},
      Param{.name = "interrupts"_str,
            .type = ATALAYA_BOOL,
            .default_text = "false"_str,
            .summary = "Interrupts by CPU; on large hosts /proc/interrupts takes milliseconds."_str},
      Param{.name = "sensors"_str,
            .type = ATALAYA_BOOL,
            .default_text = "true"_str,
            .summary = "Temperatures, power, fans and batteries from hwmon, thermal zones and power supplies."_str},
      Param{.name = "ipmi"_str,
            .type = ATALAYA_BOOL,
            .default_text = "true"_str,
            .summary = "The power that the board's management controller measures (DCMI)."_str},
      Param{
          .name = "gpus"_str, .type = ATALAYA_BOOL, .default_text = "true"_str, .summary = "NVIDIA GPUs and their processes."_str},
      Param{.name = "nvml"_str,
            .type = ATALAYA_STRING,
            .default_text = "libnvidia-ml.so.1"_str,
            .summary = "NVIDIA's management library, which comes with the driver; a name that the loader finds, or a path."_str},
      kModelParam,
  };
  // Each works or not by itself; a drop-in is enough by itself.
  static constexpr Need needs[] = {
      {ATALAYA_NEED_FILE, 1, "/sys/class/powercap/intel-rapl:0"_str, "energy of packages, but for what registers give"_str,
       "rapl"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_DAC_READ_SEARCH"_str, "energy of packages: since Linux 5.10 only root reads it"_str,
       "rapl"_str},
      {ATALAYA_NEED_FILE, 1, "/dev/cpu/0/msr"_str,
       "busy frequency, C-states as they were, throttling, energy of AMD's cores; load the module msr"_str, "msr"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_SYS_RAWIO"_str, "the same"_str, "msr"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_DAC_READ_SEARCH"_str, "the same"_str, "msr"_str},
      {ATALAYA_NEED_FILE, 1, "/dev/ipmi0"_str, "power of the host as its board measures it; load the module ipmi_devintf"_str,
       "ipmi"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_DAC_READ_SEARCH"_str, "the same"_str, "ipmi"_str},
      {ATALAYA_NEED_FILE, 1, "/sys/class/hwmon/hwmon0"_str, "temperatures, fans and meters of drivers"_str, "sensors"_str},
      {ATALAYA_NEED_FILE, 1, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"_str, "sys.cpu.mhz"_str, "frequency"_str},
      {ATALAYA_NEED_FILE, 1, "/sys/devices/system/cpu/cpu0/cpuidle/state0"_str, "sys.cpu.cstate"_str, "cstates"_str},
      {ATALAYA_NEED_FILE, 1, "/dev/nvidiactl"_str, "NVIDIA GPUs"_str, "gpu"_str},
  };
  static constexpr Description description = {.name = "power"_str,
                                              .summary = "Energy, power, temperature, frequency and idle states; GPUs"_str,
                                              .params = params,
                                              .metrics = kPowerMetrics,
                                              .needs = needs,
                                              .flags = ATALAYA_BLOCKING};

  explicit Power(Host host) : collector_(host, options_of(host)) {}
  void start() override { collector_.start(); }
  void stop() override { collector_.stop(); }
  Code collect(const Window &window, Batch &batch) override {
    collector_.collect(window, batch);
    return Code::ok;
  }

 private:
  Collector collector_;
};

}  // namespace
}  // namespace atalaya::power

ATALAYA_PLUGIN("power", "0.1.0", "source power", atalaya::power::Power)
