// SPDX-License-Identifier: Apache-2.0
// The metrics of a JVM, each with the counters from whose sum it is computed.
#pragma once

#include <atalaya/plugin.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "plugins/sources/jvm/jvm_counters.h"

namespace atalaya::jvm {

inline constexpr int kPercentDecimals = 3, kSecondDecimals = 6, kRateDecimals = 2, kPauseDecimals = 3;

// Conversion of a sum of counters to the metric's value.
enum class Conversion : uint8_t {
  bytes,    // unchanged
  count,    // unchanged: a current number
  total,    // unchanged: a total since the JVM's start
  seconds,  // ticks of the JVM's clock since its start, in seconds
  delta,    // difference to the last reading
  share,    // difference in ticks, in per cent of the elapsed time
  pause,    // share of pauses, each in the windows in which it lasts
};

struct CounterMetric {
  std::string_view name;
  Conversion conversion;
  std::array<Counter, 4> counters;
  uint8_t counter_count;
  std::string_view source, summary;
};

constexpr CounterMetric of_counter(std::string_view name, Conversion conversion, Counter counter, std::string_view source,
                                   std::string_view summary) {
  return {name, conversion, {counter, counter, counter, counter}, 1, source, summary};
}

using enum Counter;  // NOLINT(google-global-names-in-headers): only this plugin includes this header

inline constexpr std::array kCounterMetrics = {
    CounterMetric{"jvm.heap.used",
                  Conversion::bytes,
                  {eden_used, survivor0_used, survivor1_used, old_used},
                  4,
                  "the spaces below",
                  "Heap in use"},
    CounterMetric{"jvm.heap.capacity",
                  Conversion::bytes,
                  {eden_capacity, survivor0_capacity, survivor1_capacity, old_capacity},
                  4,
                  "the spaces below",
                  "Current heap size; -Xmx is its maximum"},
    of_counter("jvm.heap.eden.used", Conversion::bytes, eden_used, "jstat -gc: EU", "Eden space in use: new objects"),
    of_counter("jvm.heap.eden.capacity", Conversion::bytes, eden_capacity, "jstat -gc: EC", "Size of the eden space"),
    of_counter("jvm.heap.survivor0.used", Conversion::bytes, survivor0_used, "jstat -gc: S0U",
               "First survivor space in use: objects that survived few collections"),
    of_counter("jvm.heap.survivor0.capacity", Conversion::bytes, survivor0_capacity, "jstat -gc: S0C",
               "Size of the first survivor space"),
    of_counter("jvm.heap.survivor1.used", Conversion::bytes, survivor1_used, "jstat -gc: S1U", "Second survivor space in use"),
    of_counter("jvm.heap.survivor1.capacity", Conversion::bytes, survivor1_capacity, "jstat -gc: S1C",
               "Size of the second survivor space"),
    of_counter("jvm.heap.old.used", Conversion::bytes, old_used, "jstat -gc: OU",
               "Old generation in use; the whole heap with collectors without generations"),
    of_counter("jvm.heap.old.capacity", Conversion::bytes, old_capacity, "jstat -gc: OC", "Size of the old generation"),
    of_counter("jvm.heap.permanent.used", Conversion::bytes, permanent_used, "jstat -gc: PU",
               "Permanent generation in use: classes, before JDK 8"),
    of_counter("jvm.heap.permanent.capacity", Conversion::bytes, permanent_capacity, "jstat -gc: PC",
               "Size of the permanent generation"),
    of_counter("jvm.heap.metaspace.used", Conversion::bytes, metaspace_used, "jstat -gc: MU",
               "Metaspace in use: classes, outside the heap, from JDK 8"),
    of_counter("jvm.heap.metaspace.capacity", Conversion::bytes, metaspace_capacity, "jstat -gc: MC", "Size of the metaspace"),
    of_counter("jvm.heap.classspace.used", Conversion::bytes, classspace_used, "jstat -gc: CCSU",
               "Compressed class space in use, a part of the metaspace"),
    of_counter("jvm.heap.classspace.capacity", Conversion::bytes, classspace_capacity, "jstat -gc: CCSC",
               "Size of the compressed class space"),
    of_counter("jvm.gc.young.count", Conversion::total, young_count, "jstat -gc: YGC", "Young collections since the JVM's start"),
    of_counter("jvm.gc.young.seconds", Conversion::seconds, young_ticks, "jstat -gc: YGCT",
               "Time in young collections since the JVM's start"),
    of_counter("jvm.gc.young.collections", Conversion::delta, young_count, "jstat -gc: YGC", "Young collections in the window"),
    of_counter("jvm.gc.young.time", Conversion::pause, young_ticks, "jstat -gc: YGCT", "Share of the window in young collections"),
    of_counter("jvm.gc.full.count", Conversion::total, full_count, "jstat -gc: FGC", "Full collections since the JVM's start"),
    of_counter("jvm.gc.full.seconds", Conversion::seconds, full_ticks, "jstat -gc: FGCT",
               "Time in full collections since the JVM's start"),
    of_counter("jvm.gc.full.collections", Conversion::delta, full_count, "jstat -gc: FGC", "Full collections in the window"),
    of_counter("jvm.gc.full.time", Conversion::pause, full_ticks, "jstat -gc: FGCT", "Share of the window in full collections"),
    of_counter("jvm.gc.concurrent.count", Conversion::total, concurrent_count, "jstat -gc: CGC",
               "Pauses of concurrent collectors since the JVM's start"),
    of_counter("jvm.gc.concurrent.seconds", Conversion::seconds, concurrent_ticks, "jstat -gc: CGCT",
               "Time in pauses of concurrent collectors since the JVM's start"),
    of_counter("jvm.gc.concurrent.collections", Conversion::delta, concurrent_count, "jstat -gc: CGC",
               "Pauses of concurrent collectors in the window"),
    of_counter("jvm.gc.concurrent.time", Conversion::pause, concurrent_ticks, "jstat -gc: CGCT",
               "Share of the window in pauses of concurrent collectors"),
    CounterMetric{"jvm.gc.seconds",
                  Conversion::seconds,
                  {young_ticks, full_ticks, concurrent_ticks, old_used},
                  3,
                  "jstat -gc: GCT",
                  "Time in all collections and pauses since the JVM's start"},
    CounterMetric{"jvm.gc.time",
                  Conversion::pause,
                  {young_ticks, full_ticks, concurrent_ticks, old_used},
                  3,
                  "jstat -gc: GCT",
                  "Share of the window in all collections and pauses"},
    of_counter("jvm.safepoint.count", Conversion::total, safepoint_count, "sun.rt.safepoints",
               "Safepoints since the JVM's start; each stops all threads"),
    of_counter("jvm.safepoint.events", Conversion::delta, safepoint_count, "sun.rt.safepoints", "Safepoints in the window"),
    of_counter("jvm.safepoint.time", Conversion::pause, safepoint_ticks, "sun.rt.safepointTime",
               "Share of the window in safepoints"),
    of_counter("jvm.safepoint.sync", Conversion::pause, safepoint_sync_ticks, "sun.rt.safepointSyncTime",
               "Share of the window until safepoints were reached"),
    of_counter("jvm.threads.live", Conversion::count, threads_live, "java.threads.live", "Java threads"),
    of_counter("jvm.threads.daemon", Conversion::count, threads_daemon, "java.threads.daemon", "Java daemon threads"),
    of_counter("jvm.threads.peak", Conversion::count, threads_peak, "java.threads.livePeak",
               "Maximum number of Java threads since the JVM's start"),
    of_counter("jvm.threads.started", Conversion::delta, threads_started, "java.threads.started",
               "Java threads started in the window"),
    CounterMetric{"jvm.classes.loaded",
                  Conversion::total,
                  {classes_loaded, classes_loaded_shared, old_used, old_used},
                  2,
                  "java.cls.loadedClasses, java.cls.sharedLoadedClasses",
                  "Classes loaded since the JVM's start"},
    CounterMetric{"jvm.classes.unloaded",
                  Conversion::total,
                  {classes_unloaded, classes_unloaded_shared, old_used, old_used},
                  2,
                  "java.cls.unloadedClasses, java.cls.sharedUnloadedClasses",
                  "Classes unloaded since the JVM's start"},
    of_counter("jvm.compile.count", Conversion::total, compile_count, "sun.ci.totalCompiles",
               "Compilations of methods since the JVM's start"),
    of_counter("jvm.compile.failed", Conversion::total, compile_failed, "sun.ci.totalBailouts",
               "Aborted compilations since the JVM's start"),
    of_counter("jvm.compile.compilations", Conversion::delta, compile_count, "sun.ci.totalCompiles",
               "Compilations of methods in the window"),
    of_counter("jvm.compile.time", Conversion::share, compile_ticks, "java.ci.totalTime",
               "Time of compiler threads as a share of the window; more than 100 with several threads"),
};

inline constexpr MetricTag kJvmTags[] = {metric::identity("host"), metric::identity("process"), metric::identity("pid")};
inline constexpr MetricTag kCauseTags[] = {metric::identity("host"), metric::identity("process"), metric::identity("pid"),
                                           metric::identity("cause")};
inline constexpr MetricTag kPauseTags[] = {metric::identity("host"), metric::identity("process"), metric::identity("pid"),
                                           metric::identity("quality")};
inline constexpr MetricTag kFunctionTags[] = {metric::identity("host"), metric::identity("process"), metric::identity("pid"),
                                              metric::identity("function"), metric::identity("quality")};
inline constexpr MetricTag kStackTags[] = {metric::identity("host"),    metric::identity("profile"), metric::identity("bias"),
                                           metric::identity("process"), metric::identity("pid"),     metric::identity("function"),
                                           metric::identity("quality"), metric::extra("job"),        metric::extra("stage"),
                                           metric::extra("task"),       metric::extra("attempt")};

inline constexpr Metric kOtherMetrics[] = {
    metric::gauge("proc.start.time", "ns", metric::count, kJvmTags, "/proc/PID/stat", "Start of the process, Unix time"),
    metric::delta("jvm.gc.pauses", "1", metric::count, kJvmTags, "sun.gc.collector.N.invocations",
                  "Pauses for collections that ended in the window"),
    metric::gauge("jvm.gc.pause.mean", "ms", kPauseDecimals, kJvmTags, "sun.gc.collector.N.time",
                  "Mean pause of those that ended in the window; absent: none did"),
    metric::gauge("jvm.gc.pause.max", "ms", kPauseDecimals, kPauseTags, "sun.gc.collector.N.lastExitTime",
                  "Longest pause that ended in the window; with quality = bound, it was at least this long"),
    metric::delta("jvm.gc.cause.seen", "1", metric::count, kCauseTags, "sun.gc.lastCause",
                  "Readings that found this cause of the last collection; collections in between are not counted"),
    metric::gauge("jvm.threads.running", "1", metric::count, kJvmTags, "the last thread dump",
                  "Threads with Java code that used CPU time"),
    metric::gauge("jvm.threads.native", "1", metric::count, kJvmTags, "the last thread dump",
                  "RUNNABLE threads that used no CPU time, mostly in system calls"),
    metric::gauge("jvm.threads.blocked", "1", metric::count, kJvmTags, "the last thread dump",
                  "Threads that wait to enter a monitor"),
    metric::gauge("jvm.threads.waiting", "1", metric::count, kJvmTags, "the last thread dump",
                  "Threads that wait without a timeout"),
    metric::gauge("jvm.threads.sleeping", "1", metric::count, kJvmTags, "the last thread dump", "Threads that wait with a timeout"),
    metric::rate("jvm.profile.rate", "/s", kRateDecimals, kJvmTags, "the thread dumps", "Thread dumps per second"),
    metric::rate("jvm.profile.cost", "%", kPercentDecimals, kJvmTags,
                 "CLOCK_THREAD_CPUTIME_ID; sun.rt.safepointTime; CPU time of the Attach Listener",
                 "CPU cost of thread dumps, here and in the JVM, including pauses of running threads; 100 is one core"),
    metric::rate("jvm.profile.pause", "%", kPercentDecimals, kJvmTags, "sun.rt.safepointTime",
                 "Share of the window in which thread dumps paused the JVM's threads"),
    metric::rate("jvm.profile.cpu", "%", kPercentDecimals, kJvmTags, "the thread dumps",
                 "CPU time of threads with Java code; 100 is one core. Absent before JDK 11."),
    metric::rate("jvm.profile.unseen", "%", kPercentDecimals, kJvmTags, "the thread dumps",
                 "Part of jvm.profile.cpu without a function, from threads not seen running: stack [not seen running]"),
    metric::rate("jvm.profile.excess", "%", kPercentDecimals, kJvmTags, "the thread dumps; the process's CPU clock",
                 "CPU time in thread dumps beyond that of the process; it is in no other value"),
    metric::delta("jvm.profile.failures", "1", metric::count, kJvmTags, "the attach protocol",
                  "Failed thread dumps; each is followed by a longer pause"),
    metric::delta("jvm.profile.skipped", "1", metric::count, kJvmTags, "/proc/PID/stat",
                  "Thread dumps skipped because the JVM was stopped"),
    metric::delta("jvm.profile.lost", "1", metric::count, kJvmTags, "the thread dumps",
                  "Stacks lost because a limit was reached; their time is reported as [stack lost]"),
    metric::rate("jvm.function.self", "s/s", 6, kFunctionTags, "the thread dumps",
                 "CPU time in the function itself, without callees. The sample's text is its most frequent stack."),
    metric::delta("profile.samples", "1", metric::count, kStackTags, "the thread dumps", "Samples of the stack"),
    metric::delta("profile.ns", "ns", metric::count, kStackTags, "the thread dumps",
                  "CPU time in the stack; with threads = \"all\" the elapsed time"),
    metric::delta("profile.cpu", "ns", metric::count, kStackTags, "the thread dumps",
                  "With threads = \"all\": CPU time in the stack"),
    metric::gauge("jvm.count", "1", metric::count, metric::host_tags, "/proc/PID/maps", "JVMs"),
    metric::gauge("jvm.unshared", "1", metric::count, metric::host_tags, "hsperfdata",
                  "JVMs without shared counters (-XX:-UsePerfData), or not readable by this process"),
    metric::rate("jvm.source.cost", "%", kPercentDecimals, metric::host_tags, "CLOCK_THREAD_CPUTIME_ID",
                 "CPU cost of this source, including its part of jvm.profile.cost; 100 is one core"),
};

constexpr Metric describe(const CounterMetric &counter) {
  constexpr std::array<std::string_view, 7> units = {"By", "1", "1", "s", "1", "%", "%"};
  constexpr std::array<uint32_t, 7> kinds = {ATALAYA_GAUGE, ATALAYA_GAUGE, ATALAYA_TOTAL, ATALAYA_TOTAL,
                                             ATALAYA_DELTA, ATALAYA_RATE,  ATALAYA_RATE};
  constexpr std::array<int32_t, 7> decimals = {metric::count, metric::count,    metric::count,   kSecondDecimals,
                                               metric::count, kPercentDecimals, kPercentDecimals};
  const auto index = static_cast<size_t>(counter.conversion);
  return metric::make(kinds[index], counter.name, units[index], decimals[index], kJvmTags, counter.source, counter.summary);
}

constexpr auto all_metrics() {
  std::array<Metric, kCounterMetrics.size() + std::size(kOtherMetrics)> all{};
  std::transform(kCounterMetrics.begin(), kCounterMetrics.end(), all.begin(), describe);
  std::copy(std::begin(kOtherMetrics), std::end(kOtherMetrics), all.begin() + kCounterMetrics.size());
  return all;
}
inline constexpr auto kMetrics = all_metrics();

}  // namespace atalaya::jvm
