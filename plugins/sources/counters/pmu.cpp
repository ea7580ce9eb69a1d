// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/counters/pmu.h"

#include "core/base/files.h"
#include "plugins/shared/host/procfs/cpus.h"
#include "plugins/shared/host/procfs/files.h"

namespace atalaya::counters {
namespace {

constexpr size_t kMaxText = 65536;

}  // namespace

std::vector<Pmu> find_pmus(const std::string &root) {
  std::vector<Pmu> found;
  for (const char *const name : {"cpu_core", "cpu_atom", "cpu_lowpower"}) {
    const std::string folder = root + "/sys/bus/event_source/devices/" + name;
    auto type = core::read_file(folder + "/type", kMaxText);
    auto cpus = core::read_file(folder + "/cpus", kMaxText);
    if (!type || !cpus) continue;
    std::string_view text = *type;
    uint64_t number = 0;
    if (procfs::next_number(text, number) && number > 0 && number <= UINT32_MAX)
      found.push_back({static_cast<uint32_t>(number), procfs::parse_cpus(*cpus)});
  }
  if (found.empty()) found.push_back({});
  return found;
}

}  // namespace atalaya::counters
