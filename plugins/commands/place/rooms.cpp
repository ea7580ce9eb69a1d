// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/place/rooms.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "core/base/text.h"
#include "core/base/units.h"
#include "plugins/shared/analysis/query/usage.h"

namespace atalaya::place {
namespace {

constexpr double kMebi = 1 << 20;

core::Result<Room> parse_room(const std::string &line) {
  std::istringstream words(line);
  Room room;
  std::string cores, memory, unit, more;
  words >> room.host >> cores >> memory >> unit >> more;
  const auto [end, error] = std::from_chars(cores.data(), cores.data() + cores.size(), room.cpu);
  if (memory.empty() || !more.empty() || error != std::errc() || end != cores.data() + cores.size() || !(room.cpu > 0) ||
      !std::isfinite(room.cpu))
    return core::Error{core::in_quotes(line) + " is not NAME CORES MEMORY, as in \"db1 8 32 GiB\""};
  const auto bytes = core::parse_size(unit.empty() ? memory : memory + " " + unit);
  if (!bytes) return core::Error{bytes.error()};
  room.memory = static_cast<double>(bytes.value()) / kMebi;
  return room;
}

}  // namespace

core::Result<std::vector<Room>> parse_rooms(std::string_view text) {
  std::vector<Room> rooms;
  std::set<std::string> names;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, std::min(text.find('#'), end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    auto room = parse_room(std::string(line));
    if (!room) return core::Error{"line " + std::to_string(number) + ": " + room.error()};
    if (rooms.size() == kMostHosts)
      return core::Error{"line " + std::to_string(number) + ": more than " + std::to_string(kMostHosts) + " hosts"};
    if (!names.insert(room.value().host).second)
      return core::Error{"line " + std::to_string(number) + ": " + core::in_quotes(room.value().host) + " is there already"};
    rooms.push_back(std::move(room.value()));
  }
  return rooms;
}

std::vector<Room> read_rooms(const query::Range &range, store::Store &store, query::Budget &budget) {
  std::map<std::string, Room> rooms;
  const auto each = [&](const char *metric, const std::vector<std::string> &keys, auto &&add) {
    try {
      for (const query::Usage &usage : query::usage_of({metric}, {}, keys, range, store, budget))
        if (const auto host = usage.tags.find("host"); host != usage.tags.end()) add(rooms[host->second], usage);
    } catch (const query::UnknownMetric &) {
      return;
    }
  };
  each("sys.cpu.usage", {"host", "core"},
       [](Room &room, const query::Usage &usage) { room.cpu += usage.tags.count("core") > 0 ? 1 : 0; });
  each("sys.mem.total", {"host"}, [](Room &room, const query::Usage &usage) { room.memory = usage.max; });
  std::vector<Room> known;
  for (auto &[host, room] : rooms) {
    room.host = host;
    if (room.cpu > 0 && room.memory > 0) known.push_back(room);
  }
  return known;
}

std::vector<Room> at_least(std::vector<Room> rooms, size_t count) {
  if (rooms.empty() || rooms.size() >= count) return rooms;
  const Room last = rooms.back();
  const size_t known = rooms.size();
  rooms.resize(count, last);
  for (size_t i = known; i < count; ++i) rooms[i].host = "new" + std::to_string(i - known + 1);
  return rooms;
}

}  // namespace atalaya::place
