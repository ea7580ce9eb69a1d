// SPDX-License-Identifier: Apache-2.0
#include "plugins/power/open_meter.h"

#include <utility>

#include "plugins/power/msr_rapl.h"
#include "plugins/power/powercap.h"

namespace atalaya::power {
namespace {

OpenedMeter meter_of(OpenedCounters opened, const char *how) {
  OpenedMeter result;
  result.meter = std::make_unique<EnergyMeter>(std::move(opened.counters));
  result.how = how;
  return result;
}

}  // namespace

OpenedMeter open_meter(std::string_view rapl, const Tree &tree, Msr &msr, const std::vector<Cpu> &cpus) {
  if (rapl == "off") return {nullptr, "rapl = \"off\""};
  std::string why;
  if (rapl != "msr") {
    OpenedCounters opened = open_powercap(tree);
    if (opened.counters) return meter_of(std::move(opened), "powercap");
    why = opened.why;
  }
  if (rapl != "powercap") {
    OpenedCounters opened = open_msr_rapl(msr, cpus, read_cpu_model(tree));
    if (opened.counters) return meter_of(std::move(opened), "msr");
    why += (why.empty() ? "" : "; ") + opened.why;
  }
  return {nullptr, why};
}

}  // namespace atalaya::power
