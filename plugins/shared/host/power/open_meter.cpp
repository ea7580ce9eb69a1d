// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/power/open_meter.h"

#include <utility>

#include "plugins/shared/host/power/cpu_model.h"
#include "plugins/shared/host/power/msr_rapl.h"
#include "plugins/shared/host/power/powercap.h"

namespace atalaya::power {
namespace {

struct BestCounters {
  std::unique_ptr<EnergyCounters> counters;
  std::string how;  // as in OpenedMeter
};

// Combines two sets of counters.
class Both final : public EnergyCounters {
 public:
  Both(std::unique_ptr<EnergyCounters> first, std::unique_ptr<EnergyCounters> second)
      : first_(std::move(first)), second_(std::move(second)), zones_(first_->zones()) {
    zones_.insert(zones_.end(), second_->zones().begin(), second_->zones().end());
  }
  const std::vector<Zone> &zones() const override { return zones_; }
  std::optional<uint64_t> read(size_t zone) override {
    const size_t of_first = first_->zones().size();
    return zone < of_first ? first_->read(zone) : second_->read(zone - of_first);
  }

 private:
  std::unique_ptr<EnergyCounters> first_, second_;
  std::vector<Zone> zones_;
};

BestCounters best_counters(std::string_view rapl, const procfs::Tree &tree, Msr &msr, const std::vector<procfs::Cpu> &cpus,
                           Detail detail) {
  if (rapl == "off") return {nullptr, "rapl = \"off\""};
  std::string why;
  if (rapl != "msr") {
    OpenedCounters opened = open_powercap(tree);
    const bool wants_cores = opened.counters && rapl == "auto" && detail == Detail::cores;
    if (auto cores = wants_cores ? open_amd_cores(msr, cpus, read_cpu_model(tree)) : nullptr)
      return {std::make_unique<Both>(std::move(opened.counters), std::move(cores)), "powercap, cores by msr"};
    if (opened.counters) return {std::move(opened.counters), "powercap"};
    why = opened.why;
  }
  if (rapl != "powercap") {
    OpenedCounters opened = open_msr_rapl(msr, cpus, read_cpu_model(tree), detail);
    if (opened.counters) return {std::move(opened.counters), "msr"};
    why += (why.empty() ? "" : "; ") + opened.why;
  }
  return {nullptr, why};
}

}  // namespace

OpenedMeter open_meter(std::string_view rapl, const procfs::Tree &tree, Msr &msr, const std::vector<procfs::Cpu> &cpus,
                       Detail detail) {
  BestCounters best = best_counters(rapl, tree, msr, cpus, detail);
  OpenedMeter opened;
  if (best.counters) opened.meter = std::make_unique<EnergyMeter>(std::move(best.counters));
  opened.how = best.how;
  return opened;
}

void change_meter(EnergyMeter &meter, std::string_view rapl, const procfs::Tree &tree, Msr &msr,
                  const std::vector<procfs::Cpu> &cpus, Detail detail) {
  BestCounters best = best_counters(rapl, tree, msr, cpus, detail);
  if (best.counters) meter.change(std::move(best.counters));
}

}  // namespace atalaya::power
