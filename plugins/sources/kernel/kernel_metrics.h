// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <array>

#include "plugins/shared/io/samples/metric_values.h"

namespace atalaya::kernel {

inline constexpr MetricTag kVictimTags[] = {metric::identity("host"), metric::identity("process"), metric::identity("cgroup")};
inline constexpr MetricTag kCrashTags[] = {metric::identity("host"), metric::identity("process")};
inline constexpr MetricTag kGroupTags[] = {metric::identity("host"), metric::identity("cgroup")};
inline constexpr MetricTag kDiskTags[] = {metric::identity("host"), metric::identity("disk"), metric::identity("mount")};

// clang-format off
inline constexpr std::array kMetrics = {
    metric::delta("kernel.oom.kills", "1", metric::count, kVictimTags, "the kernel's log, oom:mark_victim; memory.events.local oom_kill", "Processes that the OOM killer ended in the window; absent without one"),
    metric::gauge("kernel.oom.memory", "MiBy", 2, kVictimTags, "the kernel's log, oom:mark_victim", "Resident memory of the largest victim in the window"),
    metric::delta("kernel.crashes", "1", metric::count, kCrashTags, "the kernel's log", "Segmentation faults and other exceptions that the kernel logged; absent without one"),
    metric::delta("kernel.throttled.time", "ns", metric::count, kGroupTags, "cpu.stat throttled_usec; throttled_time", "Time throttled, summed over the cores; absent without throttling"),
    metric::delta("kernel.throttled.periods", "1", metric::count, kGroupTags, "cpu.stat nr_throttled", "Periods in which the cgroup was throttled; absent without throttling"),
    metric::gauge("kernel.fs.readonly", "1", metric::count, kDiskTags, "mountinfo", "1: could be written earlier and is read-only now; absent otherwise"),
    metric::delta("kernel.log.lost", "1", metric::count, metric::host_tags, "/dev/kmsg", "Messages that were overwritten before they were read; absent without the log"),
};
// clang-format on

using Values = io::MetricValues<kMetrics>;

}  // namespace atalaya::kernel
