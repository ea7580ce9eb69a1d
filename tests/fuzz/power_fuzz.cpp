// SPDX-License-Identifier: Apache-2.0
// The files of /proc and /sys about CPUs and energy, and responses of a management controller. Each parser gets the whole input.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "core/base/text/text.h"
#include "plugins/shared/host/power/cpu_model.h"
#include "plugins/shared/host/power/model.h"
#include "plugins/shared/host/power/powercap.h"
#include "plugins/sources/power/cpu_states.h"
#include "plugins/sources/power/ipmi.h"
#include "plugins/translators/energy/energy.h"

using namespace atalaya::power;

namespace {

void must(bool holds) {
  if (!holds) std::abort();
}

void texts(std::string_view text) {
  const CpuModel model = parse_cpuinfo(text);
  must(model.family >= 0 && model.model >= 0);
  parse_interrupts(text);
  atalaya::core::parse_number(text);
  if (const auto cpu = atalaya::energy::parse_processor(text)) must(*cpu >= 0);
  if (const auto ticks = parse_ticks(text)) must(ticks->cores > 0 && ticks->busy + ticks->idle >= ticks->busy);
  Zone zone;
  const size_t half = text.size() / 2;
  if (place_zone(text, "", zone) || place_zone(text.substr(0, half), text.substr(half), zone)) must(zone.package >= 0);
}

// Two readings of a counter: their energy is never more than the package can draw.
void readings(std::span<const uint8_t> bytes) {
  uint64_t numbers[3] = {};
  if (bytes.size() < sizeof(numbers)) return;
  std::memcpy(numbers, bytes.data(), sizeof(numbers));
  Zone zone;
  zone.range = numbers[0];
  if (const auto counts = counts_between(zone, numbers[1], numbers[2], 5))
    must(static_cast<double>(*counts) * zone.joules <= zone.max_watts * 5);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {  // NOLINT(readability-identifier-naming)
  texts({reinterpret_cast<const char *>(data), size});
  const std::span bytes(data, size);
  readings(bytes);
  if (const auto watts = parse_power_reading(bytes)) must(*watts >= 0 && *watts <= 65535);
  return 0;
}
