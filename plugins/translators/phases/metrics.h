// SPDX-License-Identifier: Apache-2.0
// The metrics of the translator `phases`.
#pragma once

#include <atalaya/plugin.hpp>

namespace atalaya::phases {

using namespace atalaya::literals;

inline constexpr int kPhaseDecimals = 4;
inline constexpr MetricTag kPhaseTags[] = {metric::identity("host"), metric::identity("pid"), metric::identity("process"),
                                           metric::identity("phase")};
inline constexpr Metric kPhaseMetrics[] = {
    metric::gauge("phase.samples", "1", metric::count, kPhaseTags, "stacks", "Samples of the phase"),
    metric::gauge("phase.threads", "1", kPhaseDecimals, kPhaseTags, "thread dumps", "Mean number of threads with stacks"),
    metric::gauge("phase.threads.deviation", "1", kPhaseDecimals, kPhaseTags, "thread dumps",
                  "Standard deviation of phase.threads"),
    metric::gauge("phase.threads.skewness", "1", kPhaseDecimals, kPhaseTags, "thread dumps", "Skewness of phase.threads"),
    metric::gauge("phase.cpu", "%", kPhaseDecimals, kPhaseTags, "proc.cpu.user, proc.cpu.kernel",
                  "Mean CPU of the process in the phase; 100 is one core"),
    metric::gauge("phase.cpu.deviation", "%", kPhaseDecimals, kPhaseTags, "proc.cpu.*", "Standard deviation of phase.cpu"),
    metric::gauge("phase.cpu.skewness", "1", kPhaseDecimals, kPhaseTags, "proc.cpu.*", "Skewness of phase.cpu"),
    metric::gauge("phase.memory", "MiBy", kPhaseDecimals, kPhaseTags, "proc.mem.resident", "Mean resident memory in the phase"),
    metric::gauge("phase.memory.deviation", "MiBy", kPhaseDecimals, kPhaseTags, "proc.mem.resident",
                  "Standard deviation of phase.memory"),
    metric::gauge("phase.memory.skewness", "1", kPhaseDecimals, kPhaseTags, "proc.mem.resident", "Skewness of phase.memory"),
    metric::gauge("phase.reads", "MiBy/s", kPhaseDecimals, kPhaseTags, "proc.disk.reads.mb", "Mean disk reads in the phase"),
    metric::gauge("phase.reads.deviation", "MiBy/s", kPhaseDecimals, kPhaseTags, "proc.disk.reads.mb",
                  "Standard deviation of phase.reads"),
    metric::gauge("phase.reads.skewness", "1", kPhaseDecimals, kPhaseTags, "proc.disk.reads.mb", "Skewness of phase.reads"),
    metric::gauge("phase.writes", "MiBy/s", kPhaseDecimals, kPhaseTags, "proc.disk.writes.mb", "Mean disk writes in the phase"),
    metric::gauge("phase.writes.deviation", "MiBy/s", kPhaseDecimals, kPhaseTags, "proc.disk.writes.mb",
                  "Standard deviation of phase.writes"),
    metric::gauge("phase.writes.skewness", "1", kPhaseDecimals, kPhaseTags, "proc.disk.writes.mb", "Skewness of phase.writes"),
    metric::gauge("phase.received", "Mibit/s", kPhaseDecimals, kPhaseTags, "proc.net.tcp.in.mb, proc.net.udp.in.mb",
                  "Mean received traffic in the phase"),
    metric::gauge("phase.received.deviation", "Mibit/s", kPhaseDecimals, kPhaseTags, "proc.net.*.in.mb",
                  "Standard deviation of phase.received"),
    metric::gauge("phase.received.skewness", "1", kPhaseDecimals, kPhaseTags, "proc.net.*.in.mb", "Skewness of phase.received"),
    metric::gauge("phase.sent", "Mibit/s", kPhaseDecimals, kPhaseTags, "proc.net.tcp.out.mb, proc.net.udp.out.mb",
                  "Mean sent traffic in the phase"),
    metric::gauge("phase.sent.deviation", "Mibit/s", kPhaseDecimals, kPhaseTags, "proc.net.*.out.mb",
                  "Standard deviation of phase.sent"),
    metric::gauge("phase.sent.skewness", "1", kPhaseDecimals, kPhaseTags, "proc.net.*.out.mb", "Skewness of phase.sent"),
    metric::gauge("phases.processes", "1", metric::count, metric::host_tags, "stacks", "Watched processes"),
    metric::gauge("phases.known", "1", metric::count, metric::host_tags, "the store, stacks", "Known phases of their programs"),
    metric::gauge("phases.buffered", "1", metric::count, metric::host_tags, "stacks", "Samples in memory, of all processes"),
    metric::delta("phases.learned", "1", metric::count, metric::host_tags, "stacks", "Phases learned in the window"),
    metric::total("phases.lost", "1", metric::count, metric::host_tags, "stacks",
                  "Functions beyond the limit of symbols, counted as one"),
    metric::rate("phases.trace", "bit/s", 1, metric::host_tags, "stacks", "Size of the traces as interned numbers, per second"),
    metric::rate("phases.cost", "%", 4, metric::host_tags, "CLOCK_THREAD_CPUTIME_ID",
                 "CPU cost of this translator; 100 is one core"),
};

}  // namespace atalaya::phases
