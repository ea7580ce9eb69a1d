// SPDX-License-Identifier: Apache-2.0
#include "plugins/power/open_meter.h"

#include <utility>

#include "plugins/power/cpu_model.h"
#include "plugins/power/msr_rapl.h"
#include "plugins/power/powercap.h"

namespace atalaya::power {
namespace {

struct BestCounters {
  std::unique_ptr<EnergyCounters> counters;
  std::string how;  // as of OpenedMeter
};

BestCounters best_counters(std::string_view rapl, const core::Tree &tree, Msr &msr, const std::vector<cpus::Cpu> &cpus) {
  if (rapl == "off") return {nullptr, "rapl = \"off\""};
  std::string why;
  if (rapl != "msr") {
    OpenedCounters opened = open_powercap(tree);
    if (opened.counters) return {std::move(opened.counters), "powercap"};
    why = opened.why;
  }
  if (rapl != "powercap") {
    OpenedCounters opened = open_msr_rapl(msr, cpus, read_cpu_model(tree));
    if (opened.counters) return {std::move(opened.counters), "msr"};
    why += (why.empty() ? "" : "; ") + opened.why;
  }
  return {nullptr, why};
}

}  // namespace

OpenedMeter open_meter(std::string_view rapl, const core::Tree &tree, Msr &msr, const std::vector<cpus::Cpu> &cpus) {
  BestCounters best = best_counters(rapl, tree, msr, cpus);
  OpenedMeter opened;
  if (best.counters) opened.meter = std::make_unique<EnergyMeter>(std::move(best.counters));
  opened.how = best.how;
  return opened;
}

void change_meter(EnergyMeter &meter, std::string_view rapl, const core::Tree &tree, Msr &msr, const std::vector<cpus::Cpu> &cpus) {
  BestCounters best = best_counters(rapl, tree, msr, cpus);
  if (best.counters) meter.change(std::move(best.counters));
}

}  // namespace atalaya::power
