// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/opentsdb/bdwatchdog.h"

#include <algorithm>
#include <array>

namespace atalaya::protocols {
namespace {

struct Row {
  std::string_view name;
  uint32_t kind;
  std::string_view unit;
  int32_t decimals;
};
constexpr std::array kRows = std::to_array<Row>({
    {"proc.cpu.kernel", ATALAYA_RATE, "%", 2},
    {"proc.cpu.user", ATALAYA_RATE, "%", 2},
    {"proc.disk.reads.mb", ATALAYA_RATE, "MiBy/s", 3},
    {"proc.disk.writes.mb", ATALAYA_RATE, "MiBy/s", 3},
    {"proc.mem.resident", ATALAYA_GAUGE, "MiBy", 2},
    {"proc.mem.virtual", ATALAYA_GAUGE, "MiBy", 2},
    {"proc.net.tcp.in.mb", ATALAYA_RATE, "Mibit/s", 4},
    {"proc.net.tcp.out.mb", ATALAYA_RATE, "Mibit/s", 4},
    {"proc.net.udp.in.mb", ATALAYA_RATE, "Mibit/s", 4},
    {"proc.net.udp.out.mb", ATALAYA_RATE, "Mibit/s", 4},
    {"sys.cpu.idle", ATALAYA_RATE, "%", 2},
    {"sys.cpu.kernel", ATALAYA_RATE, "%", 2},
    {"sys.cpu.usage", ATALAYA_RATE, "%", 2},
    {"sys.cpu.user", ATALAYA_RATE, "%", 2},
    {"sys.cpu.wait", ATALAYA_RATE, "%", 2},
    {"sys.disk.read.mb", ATALAYA_RATE, "MiBy/s", 3},
    {"sys.disk.usage", ATALAYA_RATE, "%", 2},
    {"sys.disk.write.mb", ATALAYA_RATE, "MiBy/s", 3},
    {"sys.mem.free", ATALAYA_GAUGE, "MiBy", 2},
    {"sys.mem.usage", ATALAYA_GAUGE, "%", 2},
    {"sys.net.in.mb", ATALAYA_RATE, "Mibit/s", 4},
    {"sys.net.out.mb", ATALAYA_RATE, "Mibit/s", 4},
    {"sys.net.usage", ATALAYA_RATE, "%", 2},
    {"sys.swap.free", ATALAYA_GAUGE, "MiBy", 2},
});

void rename(Record &point, std::string_view from, std::string_view to) {
  RecordTag *renamed = nullptr;
  for (RecordTag &tag : point.tags) {
    if (tag.key == to) return;
    if (tag.key == from) renamed = &tag;
  }
  if (renamed == nullptr) return;
  renamed->key = to;
  std::string_view &value = renamed->value;
  if (value.size() > 2 && value.front() == '(' && value.back() == ')') value = value.substr(1, value.size() - 2);
}

}  // namespace

void adopt_bdwatchdog_tags(Record &point) {
  const std::string_view name = point.fields.front().name;
  if (name.starts_with("proc.")) rename(point, "command", "process");
  if (name.starts_with("sys.net.")) rename(point, "device", "interface");
}

std::optional<atalaya_metric_info> bdwatchdog_metric(std::string_view name) {
  const auto row = std::lower_bound(kRows.begin(), kRows.end(), name,
                                    [](const Row &known, std::string_view wanted) { return known.name < wanted; });
  if (row == kRows.end() || row->name != name) return std::nullopt;
  atalaya_metric_info info{.struct_size = sizeof(info), .kind = row->kind, .decimals = row->decimals};
  info.unit = {row->unit.data(), row->unit.size()};
  return info;
}

}  // namespace atalaya::protocols
