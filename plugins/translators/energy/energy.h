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

#include "plugins/shared/power/model.h"
#include "plugins/shared/power/numbers.h"
#include "plugins/shared/power/open_meter.h"
#include "plugins/translators/energy/share.h"

namespace atalaya::energy {

using namespace atalaya::literals;

inline constexpr int kJouleDecimals = 6;
inline constexpr MetricTag kProcessTags[] = {{"host"_str, ATALAYA_TAG_IDENTITY, 0},
                                             {"pid"_str, ATALAYA_TAG_IDENTITY, 0},
                                             {"process"_str, ATALAYA_TAG_IDENTITY, 0},
                                             {"quality"_str, ATALAYA_TAG_IDENTITY, 0}};
inline constexpr MetricTag kHostTags[] = {{"host"_str, ATALAYA_TAG_IDENTITY, 0}, {"quality"_str, ATALAYA_TAG_IDENTITY, 0}};

template <size_t tags>
constexpr Metric joules(atalaya_str name, const MetricTag (&keys)[tags], atalaya_str source, atalaya_str summary) {
  return {name, "J"_str, ATALAYA_DELTA, kJouleDecimals, keys, tags, sizeof(MetricTag), source, summary};
}

// The CPU that /proc/PID/stat says a process ran on last; absent when it is cut off before.
std::optional<int32_t> parse_processor(std::string_view stat);

// Divides what packages consume among the processes of the batch.
class EnergyTranslator final : public Translator {
 public:
  static constexpr std::array kParams = {
      Param{.name = "root"_str,
            .type = ATALAYA_STRING,
            .default_text = "/"_str,
            .summary = "The folder that holds sys, proc and dev, as of the source of the processes."_str},
      Param{
          .name = "rapl"_str,
          .type = ATALAYA_ENUM,
          .default_text = "auto"_str,
          .allowed = "auto|powercap|msr|off"_str,
          .summary = "Where the energy of packages is read: by the kernel's powercap, by registers, or the first that works."_str},
      Param{.name = "idle"_str,
            .type = ATALAYA_NUMBER,
            .flags = ATALAYA_BOUNDED,
            .unit = "W"_str,
            .summary = "What all packages draw with nothing to do. Absent: the least power that was seen in an idle window."_str,
            .min = 0,
            .max = 100000},
      Param{.name = "frequency"_str,
            .type = ATALAYA_BOOL,
            .default_text = "true"_str,
            .summary = "Processes of one thread are weighed by the frequency of the CPU that they ran on last."_str},
      power::kModelParam,
  };
  static constexpr std::array kMetrics = {
      joules("proc.cpu.energy"_str, kProcessTags, "energy of packages, proc.cpu.user, proc.cpu.kernel"_str,
             "The process's part of the packages' energy in the window above what they draw idle."_str),
      joules("sys.energy.packages"_str, kHostTags, "powercap package-N energy_uj, MSR 611h, C001029Bh"_str,
             "Energy of all packages in the window: the sum of the three below. With quality = model: of the host."_str),
      joules("sys.energy.idle"_str, kHostTags, "the same"_str, "What of it they would have drawn with nothing to do."_str),
      joules("sys.energy.processes"_str, kHostTags, "the same"_str, "What of it the processes of the batch have."_str),
      joules("sys.energy.unattributed"_str, kHostTags, "the same, /proc/stat"_str,
             "What of it belongs to CPU time that is of none of them."_str),
  };
  static constexpr Need kNeeds[] = {
      {ATALAYA_NEED_FILE, 1, "/sys/class/powercap/intel-rapl:0"_str, "energy of processes, but for what registers give"_str,
       "rapl"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_DAC_READ_SEARCH"_str,
       "energy of processes: since Linux 5.10 only root reads that of packages"_str, "rapl"_str},
      {ATALAYA_NEED_FILE, 1, "/dev/cpu/0/msr"_str, "the same, where the kernel has no powercap; load the module msr"_str,
       "msr"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_SYS_RAWIO"_str, "the same"_str, "msr"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_DAC_READ_SEARCH"_str, "the same"_str, "msr"_str},
  };
  static constexpr Description description = {.name = "energy"_str,
                                              .summary = "divides the energy of CPUs among processes"_str,
                                              .params = kParams,
                                              .metrics = kMetrics,
                                              .needs = kNeeds};

  // A test brings recorded registers.
  explicit EnergyTranslator(Host host, std::unique_ptr<power::Msr> msr = nullptr);
  void start() override;
  void stop() override;
  Code process(const Window &window, Batch &batch) override;

 private:
  struct Total {
    double joules, seconds;
  };

  void find_frequencies(const std::vector<cpus::Cpu> &cpus);
  void follow_cpus();
  std::optional<Total> measure(const Window &window);
  std::optional<Total> modelled(const std::optional<power::Busy> &busy);
  void find_users(const Batch &batch);
  std::optional<double> frequency_of(const Sample &sample);
  void write(const Window &window, Batch &batch, const Total &total, const power::Busy &busy);
  void give(Batch &batch, size_t user, double energy);
  void tell_host(const Window &window, Batch &batch, const Total &total, double idle, double unattributed);

  Host host_;
  core::Tree tree_;
  cpus::CpuWatch cpu_watch_;
  std::unique_ptr<power::Msr> msr_;
  std::string rapl_;
  bool weigh_;
  bool still_told_ = false;
  std::optional<power::Model> model_;
  IdlePower idle_;
  uint32_t user_, kernel_, threads_, pid_, process_, host_tag_, quality_;  // names
  uint32_t energy_, packages_, idle_name_, processes_, unattributed_;

  std::unique_ptr<power::EnergyMeter> meter_;
  power::BusyTime busy_;
  std::map<int32_t, power::NumberFile> frequencies_;  // by CPU
  std::map<int32_t, std::optional<double>> mhz_;      // in this window
  std::optional<int64_t> modelled_to_ns_;
  std::string host_name_;  // as the samples have it

  std::vector<User> users_;
  std::vector<size_t> samples_;  // of the users: their places in the batch
};

}  // namespace atalaya::energy
