// SPDX-License-Identifier: Apache-2.0
// The points of BDWatchdog's agents, whose metrics have the names and units of Atalaya's. They come without a unit, with `command`
// for `process` and `device` for `interface`, and commands may have atop's parentheses, which OpenTSDB refuses:
//   {"metric":"proc.cpu.user","timestamp":"1795219532","value":"99.40","tags":{"host":"vm","pid":"8860","command":"(java)"}}
// Source: github.com/UDC-GAC/BDWatchdog, MetricsFeeder.
#pragma once

#include <atalaya/plugin.h>

#include <optional>
#include <string_view>

#include "plugins/shared/protocols/base/record.h"

namespace atalaya::protocols {

// Renames the tags of a point of a process or a network interface, and removes the parentheses.
void adopt_bdwatchdog_tags(Record &point);
// The declaration of a metric of BDWatchdog. Nothing for others, and for those whose unit differs: counts of packets and of I/O,
// watts.
std::optional<atalaya_metric_info> bdwatchdog_metric(std::string_view name);

}  // namespace atalaya::protocols
