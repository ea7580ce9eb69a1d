// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/host/power/model.h"
#include "plugins/shared/host/power/numbers.h"
#include "plugins/shared/host/power/open_meter.h"
#include "plugins/translators/energy/share.h"

namespace atalaya::energy {

inline constexpr int kJouleDecimals = 6;
inline constexpr MetricTag kProcessTags[] = {metric::identity("host"), metric::identity("pid"), metric::identity("process"),
                                             metric::identity("quality")};
inline constexpr MetricTag kHostTags[] = {metric::identity("host"), metric::identity("quality")};

// The CPU on which a process ran last, from the text of /proc/PID/stat; absent when the text is too short.
std::optional<int32_t> parse_processor(std::string_view stat);

// Divides the energy of packages among the processes of the batch.
class EnergyTranslator final : public Translator {
 public:
  static constexpr Param kParams[] = {
      param::string("root", "Folder that holds sys, proc and dev; the same as that of the processes' source").defaults("/"),
      param::choice("rapl", "auto|powercap|msr|off", "Energy from powercap or MSRs; auto: the first that works").defaults("auto"),
      param::number("idle", "Power of all idle packages (default: the least power seen in an idle window)")
          .range(0, 100000)
          .unit("W"),
      param::boolean("frequency", "Weight processes of one thread by the frequency of their last CPU").defaults("true"),
      power::kModelParam,
  };
  static constexpr Metric kMetrics[] = {
      metric::delta("proc.cpu.energy", "J", kJouleDecimals, kProcessTags, "energy of packages, proc.cpu.user, proc.cpu.kernel",
                    "Share of the process in the packages' energy above idle in the window"),
      metric::delta("sys.energy.packages", "J", kJouleDecimals, kHostTags, "powercap package-N energy_uj, MSR 611h, C001029Bh",
                    "Energy of all packages in the window; with quality = model, of the host"),
      metric::delta("sys.energy.idle", "J", kJouleDecimals, kHostTags, "powercap package-N energy_uj, MSR 611h, C001029Bh",
                    "Part of sys.energy.packages that idle packages draw"),
      metric::delta("sys.energy.processes", "J", kJouleDecimals, kHostTags, "powercap package-N energy_uj, MSR 611h, C001029Bh",
                    "Part of sys.energy.packages of the processes in the batch"),
      metric::delta("sys.energy.unattributed", "J", kJouleDecimals, kHostTags,
                    "powercap package-N energy_uj, MSR 611h, C001029Bh, /proc/stat",
                    "Part of sys.energy.packages of CPU time of no process in the batch"),
  };
  static constexpr Need kNeeds[] = {
      need::optional_file("/sys/class/powercap/intel-rapl:0", "no energy of processes, except from MSRs", "rapl"),
      need::optional_capability("CAP_DAC_READ_SEARCH", "no energy of processes: since Linux 5.10 only root reads package energy",
                                "rapl"),
      need::optional_file("/dev/cpu/0/msr", "no energy of processes where powercap is missing; load the module msr", "msr"),
      need::optional_capability("CAP_SYS_RAWIO", "same effect as missing /dev/cpu/0/msr", "msr"),
      need::optional_capability("CAP_DAC_READ_SEARCH", "same effect as missing /dev/cpu/0/msr", "msr"),
  };
  static constexpr Description description = {.name = "energy"_str,
                                              .summary = "Divide the energy of CPUs among processes"_str,
                                              .params = kParams,
                                              .metrics = kMetrics,
                                              .needs = kNeeds};

  // `msr`: source of the registers; null: those of this host. Tests pass recorded ones.
  explicit EnergyTranslator(Host host, std::unique_ptr<power::Msr> msr = nullptr);
  void start() override;
  void stop() override;
  Code process(const Window &window, Batch &batch) override;

 private:
  struct Total {
    double joules, seconds;
  };

  void find_frequencies(const std::vector<procfs::Cpu> &cpus);
  void follow_cpus();
  std::optional<Total> measure(const Window &window);
  std::optional<Total> modelled(const Window &window, const std::optional<power::Busy> &busy);
  void collect_users(const Batch &batch);
  std::optional<double> frequency_of(const Sample &sample);
  void write(const Window &window, Batch &batch, const Total &total, const power::Busy &busy);
  void emit_user(Batch &batch, size_t user, double energy);
  void emit_host(const Window &window, Batch &batch, const Total &total, double idle, double unattributed);

  Host host_;
  procfs::Tree tree_;
  procfs::CpuWatch cpu_watch_;
  std::unique_ptr<power::Msr> msr_;
  std::string rapl_;
  bool weights_by_frequency_;
  bool stopped_logged_ = false;
  std::optional<power::Model> model_;
  IdlePower idle_;
  uint32_t user_, kernel_, threads_, pid_, process_, host_tag_, quality_;  // ids of metrics and tags in the batch
  uint32_t energy_, packages_, idle_name_, processes_, unattributed_;

  std::unique_ptr<power::EnergyMeter> meter_;
  power::BusyTime busy_;
  std::map<int32_t, power::NumberFile> frequencies_;  // by CPU: file with its frequency
  std::map<int32_t, std::optional<double>> mhz_;      // by CPU: frequencies read in this window
  std::optional<int64_t> modelled_to_ns_;
  std::string host_name_;  // value of the tag host in the samples

  std::vector<User> users_;
  std::vector<size_t> samples_;  // positions in the batch of the samples of users_
};

}  // namespace atalaya::energy
