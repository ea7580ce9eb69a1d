// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/place/host_capacity.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "core/base/text/text.h"
#include "core/base/text/units.h"
#include "plugins/shared/store/query/usage.h"

namespace atalaya::place {
namespace {

core::Result<HostCapacity> parse_capacity(const std::string &line) {
  std::istringstream words(line);
  HostCapacity capacity;
  std::string cores, memory, unit, more;
  words >> capacity.host >> cores >> memory >> unit >> more;
  capacity.cpu = core::number_from<double>(cores).value_or(0);
  if (memory.empty() || !more.empty() || !(capacity.cpu > 0) || !std::isfinite(capacity.cpu))
    return core::Error{core::in_quotes(line) + " is not NAME CORES MEMORY, as in \"db1 8 32 GiB\""};
  const auto bytes = core::parse_size(unit.empty() ? memory : memory + " " + unit);
  if (!bytes) return core::Error{bytes.error()};
  capacity.memory = static_cast<double>(bytes.value()) / kMebi;
  return capacity;
}

}  // namespace

core::Result<std::vector<HostCapacity>> parse_capacities(std::string_view text) {
  std::vector<HostCapacity> capacities;
  std::set<std::string> names;
  for (size_t number = 1; !text.empty(); ++number) {
    std::string_view line = core::cut_at(text, '\n');
    line = core::cut_at(line, '#');
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    auto capacity = parse_capacity(std::string(line));
    if (!capacity) return core::Error{"line " + std::to_string(number) + ": " + capacity.error()};
    if (capacities.size() == kMaxHosts)
      return core::Error{"line " + std::to_string(number) + ": more than " + std::to_string(kMaxHosts) + " hosts"};
    if (!names.insert(capacity.value().host).second)
      return core::Error{"line " + std::to_string(number) + ": " + core::in_quotes(capacity.value().host) + " is listed twice"};
    capacities.push_back(std::move(capacity.value()));
  }
  return capacities;
}

std::vector<HostCapacity> read_capacities(const query::Range &range, store::Store &store, query::Budget &budget) {
  std::map<std::string, HostCapacity> capacities;
  const auto each = [&](const char *metric, const std::vector<std::string> &keys, auto &&add) {
    try {
      for (const query::Usage &usage : query::usage_of({metric}, {}, keys, range, store, budget))
        if (const auto host = usage.tags.find("host"); host != usage.tags.end()) add(capacities[host->second], usage);
    } catch (const query::UnknownMetric &) {
      return;
    }
  };
  each("sys.cpu.usage", {"host", "core"},
       [](HostCapacity &capacity, const query::Usage &usage) { capacity.cpu += usage.tags.count("core") > 0 ? 1 : 0; });
  each("sys.mem.total", {"host"}, [](HostCapacity &capacity, const query::Usage &usage) { capacity.memory = usage.max; });
  std::vector<HostCapacity> known;
  for (auto &[host, capacity] : capacities) {
    capacity.host = host;
    if (capacity.cpu > 0 && capacity.memory > 0) known.push_back(capacity);
  }
  return known;
}

std::vector<HostCapacity> with_new_hosts(std::vector<HostCapacity> capacities, size_t count) {
  if (capacities.empty() || capacities.size() >= count) return capacities;
  const HostCapacity last = capacities.back();
  const size_t known = capacities.size();
  capacities.resize(count, last);
  for (size_t i = known; i < count; ++i) capacities[i].host = "new" + std::to_string(i - known + 1);
  return capacities;
}

}  // namespace atalaya::place
