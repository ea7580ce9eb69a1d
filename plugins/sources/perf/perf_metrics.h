// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

namespace atalaya::perf {

inline constexpr int kPercentDecimals = 3, kMemoryDecimals = 2;

inline constexpr MetricTag kStackTags[] = {metric::identity("host"), metric::identity("profile"), metric::identity("process"),
                                           metric::identity("pid"),  metric::extra("container"),  metric::extra("runtime"),
                                           metric::extra("reason"),  metric::extra("owner"),      metric::extra("job"),
                                           metric::extra("stage"),   metric::extra("task"),       metric::extra("attempt")};

inline constexpr Metric kMetrics[] = {
    metric::delta("profile.samples", "1", metric::count, kStackTags, "perf event, or sched_switch",
                  "Samples of the stack; off-CPU: waits in the stack"),
    metric::delta("profile.ns", "ns", metric::count, kStackTags, "sched_switch",
                  "Off-CPU: time that threads waited in the stack, counted in the window in which the wait ends"),
    metric::delta("perf.samples", "1", metric::count, metric::host_tags, "perf event, or sched_switch",
                  "Samples taken, including lost and filtered ones"),
    metric::delta("perf.lost", "1", metric::count, metric::host_tags, "BPF map, perf ring",
                  "Samples lost because a buffer was full; they are in no stack"),
    metric::delta("perf.filtered", "1", metric::count, metric::host_tags, "the options processes and cgroups",
                  "Samples of processes that the options exclude"),
    metric::delta("perf.stacks.lost", "1", metric::count, metric::host_tags, "BPF map",
                  "Samples whose stack was lost, in part or whole; reported as [stack lost]"),
    metric::delta("perf.stacks.incomplete", "1", metric::count, metric::host_tags, "the stacks",
                  "Samples whose stack does not reach the thread's first function: [unwind failed], [truncated], [stack lost]"),
    metric::delta("perf.stacks.uncopied", "1", metric::count, metric::host_tags, "perf ring",
                  "Stacks that tables would unwind, not copied because the ring was full; frame pointers were used"),
    metric::delta("perf.frames", "1", metric::count, metric::host_tags, "the stacks", "Frames in distinct stacks of the window"),
    metric::delta("perf.frames.unnamed", "1", metric::count, metric::host_tags, "the stacks",
                  "Frames without a function name: [libc.so.6], [unknown]"),
    metric::rate("perf.cpu.kernel", "%", kPercentDecimals, metric::host_tags, "the BPF program's own clock",
                 "CPU time of sampling in the kernel; 100 is one core. Absent with the backend ring."),
    metric::rate("perf.cpu.user", "%", kPercentDecimals, metric::host_tags, "CLOCK_THREAD_CPUTIME_ID",
                 "CPU time of reading and naming stacks; 100 is one core"),
    metric::gauge("perf.symbols.memory", "MiBy", kMemoryDecimals, metric::host_tags, "the caches",
                  "Memory of file symbols and process maps"),
    metric::delta("perf.jvm.failures", "1", metric::count, metric::host_tags, "the attach protocol",
                  "JVMs that did not write a perf map on request"),
    metric::delta("perf.tasks.unnamed", "1", metric::count, metric::host_tags, "thread dumps of JVMs",
                  "Samples and waits of threads that may run tasks, but whose whole names are unknown; with tasks = true"),
    metric::delta(
        "perf.tasks.lost", "1", metric::count, metric::host_tags, "task_spans, BPF maps",
        "Runs of task_regions without a span: beyond task_spans, or a buffer was full; with over 16,384 threads in regions "
        "at once, also runs without stacks of their own"),
    metric::delta("perf.burst.time", "ns", metric::count, metric::host_tags, "CLOCK_MONOTONIC",
                  "Length of the bursts that ended; with wakers"),
    metric::delta("perf.burst.waits", "1", metric::count, metric::host_tags, "sched_switch, sched_waking",
                  "Waits of all threads during the bursts, including lost and filtered ones"),
    metric::delta("perf.burst.lost", "1", metric::count, metric::host_tags, "BPF map",
                  "Waits of the bursts lost because a buffer was full; they are in no stack"),
    metric::delta("perf.burst.filtered", "1", metric::count, metric::host_tags, "the options processes and cgroups",
                  "Waits of processes that the options exclude"),
    metric::delta("perf.burst.unfollowed", "1", metric::count, metric::host_tags, "BPF map",
                  "Waits of the bursts that were not noted because too many threads waited"),
};

}  // namespace atalaya::perf
