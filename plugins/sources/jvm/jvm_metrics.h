// SPDX-License-Identifier: Apache-2.0
// What is told of a JVM, and which of its counters that comes from.
#pragma once

#include <atalaya/plugin.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

#include "plugins/sources/jvm/shared.h"

namespace atalaya::jvm {

inline constexpr int kIsCount = -1, kPercentDecimals = 3, kSecondDecimals = 6, kRateDecimals = 2;

// How a number is made of the sum of counters.
enum class How : uint8_t {
  bytes,    // as it is
  count,    // as it is, now
  total,    // as it is, since the JVM's start
  seconds,  // ticks of its clock, since its start
  delta,    // since the last reading
  share,    // ticks since the last reading, in per cent of that time
};

struct Shown {
  atalaya_str name;
  How how;
  std::array<Counter, 4> counters;
  uint8_t counter_count;
  atalaya_str source, summary;
};

constexpr Shown shown(atalaya_str name, How how, Counter counter, atalaya_str source, atalaya_str summary) {
  return {name, how, {counter, counter, counter, counter}, 1, source, summary};
}

using enum Counter;  // NOLINT(google-global-names-in-headers): of this plugin only

inline constexpr std::array kShown = {
    Shown{"jvm.heap.used"_str,
          How::bytes,
          {eden_used, survivor0_used, survivor1_used, old_used},
          4,
          "the spaces below"_str,
          "Heap in use."_str},
    Shown{"jvm.heap.capacity"_str,
          How::bytes,
          {eden_capacity, survivor0_capacity, survivor1_capacity, old_capacity},
          4,
          "the spaces below"_str,
          "Heap that is there; -Xmx is how much there may be."_str},
    shown("jvm.heap.eden.used"_str, How::bytes, eden_used, "jstat -gc: EU"_str, "Where objects are made."_str),
    shown("jvm.heap.eden.capacity"_str, How::bytes, eden_capacity, "jstat -gc: EC"_str, "Its size."_str),
    shown("jvm.heap.survivor0.used"_str, How::bytes, survivor0_used, "jstat -gc: S0U"_str,
          "Objects that have outlived few collections, one half."_str),
    shown("jvm.heap.survivor0.capacity"_str, How::bytes, survivor0_capacity, "jstat -gc: S0C"_str, "Its size."_str),
    shown("jvm.heap.survivor1.used"_str, How::bytes, survivor1_used, "jstat -gc: S1U"_str, "The same, the other half."_str),
    shown("jvm.heap.survivor1.capacity"_str, How::bytes, survivor1_capacity, "jstat -gc: S1C"_str, "Its size."_str),
    shown("jvm.heap.old.used"_str, How::bytes, old_used, "jstat -gc: OU"_str,
          "Objects that live long; all of the heap with collectors that have no generations."_str),
    shown("jvm.heap.old.capacity"_str, How::bytes, old_capacity, "jstat -gc: OC"_str, "Its size."_str),
    shown("jvm.heap.permanent.used"_str, How::bytes, permanent_used, "jstat -gc: PU"_str, "Classes, before JDK 8."_str),
    shown("jvm.heap.permanent.capacity"_str, How::bytes, permanent_capacity, "jstat -gc: PC"_str, "Its size."_str),
    shown("jvm.heap.metaspace.used"_str, How::bytes, metaspace_used, "jstat -gc: MU"_str,
          "Classes, outside of the heap, from JDK 8 on."_str),
    shown("jvm.heap.metaspace.capacity"_str, How::bytes, metaspace_capacity, "jstat -gc: MC"_str, "Its size."_str),
    shown("jvm.heap.classspace.used"_str, How::bytes, classspace_used, "jstat -gc: CCSU"_str,
          "Of the metaspace, what short pointers reach."_str),
    shown("jvm.heap.classspace.capacity"_str, How::bytes, classspace_capacity, "jstat -gc: CCSC"_str, "Its size."_str),
    shown("jvm.gc.young.count"_str, How::total, young_count, "jstat -gc: YGC"_str, "Collections of the young generation."_str),
    shown("jvm.gc.young.seconds"_str, How::seconds, young_ticks, "jstat -gc: YGCT"_str, "Time in them."_str),
    shown("jvm.gc.young.collections"_str, How::delta, young_count, "jstat -gc: YGC"_str, "Collections in the window."_str),
    shown("jvm.gc.young.time"_str, How::share, young_ticks, "jstat -gc: YGCT"_str, "Share of the window in them."_str),
    shown("jvm.gc.full.count"_str, How::total, full_count, "jstat -gc: FGC"_str, "Collections of the whole heap."_str),
    shown("jvm.gc.full.seconds"_str, How::seconds, full_ticks, "jstat -gc: FGCT"_str, "Time in them."_str),
    shown("jvm.gc.full.collections"_str, How::delta, full_count, "jstat -gc: FGC"_str, "Collections in the window."_str),
    shown("jvm.gc.full.time"_str, How::share, full_ticks, "jstat -gc: FGCT"_str, "Share of the window in them."_str),
    shown("jvm.gc.concurrent.count"_str, How::total, concurrent_count, "jstat -gc: CGC"_str,
          "Pauses of collectors that work beside the program."_str),
    shown("jvm.gc.concurrent.seconds"_str, How::seconds, concurrent_ticks, "jstat -gc: CGCT"_str, "Time in them."_str),
    shown("jvm.gc.concurrent.collections"_str, How::delta, concurrent_count, "jstat -gc: CGC"_str,
          "Such pauses in the window."_str),
    shown("jvm.gc.concurrent.time"_str, How::share, concurrent_ticks, "jstat -gc: CGCT"_str, "Share of the window in them."_str),
    Shown{"jvm.gc.seconds"_str,
          How::seconds,
          {young_ticks, full_ticks, concurrent_ticks, old_used},
          3,
          "jstat -gc: GCT"_str,
          "Time in collections and pauses of all kinds."_str},
    Shown{"jvm.gc.time"_str,
          How::share,
          {young_ticks, full_ticks, concurrent_ticks, old_used},
          3,
          "jstat -gc: GCT"_str,
          "Share of the window in collections and pauses of all kinds."_str},
    shown("jvm.safepoint.count"_str, How::total, safepoint_count, "sun.rt.safepoints"_str,
          "How often all threads were stopped, whatever for."_str),
    shown("jvm.safepoint.events"_str, How::delta, safepoint_count, "sun.rt.safepoints"_str, "How often in the window."_str),
    shown("jvm.safepoint.time"_str, How::share, safepoint_ticks, "sun.rt.safepointTime"_str,
          "Share of the window in which they stood."_str),
    shown("jvm.safepoint.sync"_str, How::share, safepoint_sync_ticks, "sun.rt.safepointSyncTime"_str,
          "Share of the window until they stood."_str),
    shown("jvm.threads.live"_str, How::count, threads_live, "java.threads.live"_str, "Java threads."_str),
    shown("jvm.threads.daemon"_str, How::count, threads_daemon, "java.threads.daemon"_str,
          "Of these, threads that do not keep the JVM from ending."_str),
    shown("jvm.threads.peak"_str, How::count, threads_peak, "java.threads.livePeak"_str, "The most that there were."_str),
    shown("jvm.threads.started"_str, How::delta, threads_started, "java.threads.started"_str,
          "Threads that began in the window."_str),
    Shown{"jvm.classes.loaded"_str,
          How::total,
          {classes_loaded, classes_loaded_shared, old_used, old_used},
          2,
          "java.cls.loadedClasses, java.cls.sharedLoadedClasses"_str,
          "Classes that were loaded."_str},
    Shown{"jvm.classes.unloaded"_str,
          How::total,
          {classes_unloaded, classes_unloaded_shared, old_used, old_used},
          2,
          "java.cls.unloadedClasses, java.cls.sharedUnloadedClasses"_str,
          "Classes that are gone again."_str},
    shown("jvm.compile.count"_str, How::total, compile_count, "sun.ci.totalCompiles"_str, "Methods that were compiled."_str),
    shown("jvm.compile.failed"_str, How::total, compile_failed, "sun.ci.totalBailouts"_str, "Compilations that were given up."_str),
    shown("jvm.compile.compilations"_str, How::delta, compile_count, "sun.ci.totalCompiles"_str, "Compilations in the window."_str),
    shown("jvm.compile.time"_str, How::share, compile_ticks, "java.ci.totalTime"_str,
          "Time that compilers worked, in per cent of the window; several at once are more than 100."_str),
};

inline constexpr std::array kHostTags = {MetricTag{"host"_str, ATALAYA_TAG_IDENTITY}};
inline constexpr std::array kJvmTags = {MetricTag{"host"_str, ATALAYA_TAG_IDENTITY}, MetricTag{"process"_str, ATALAYA_TAG_IDENTITY},
                                        MetricTag{"pid"_str, ATALAYA_TAG_IDENTITY}};
inline constexpr std::array kCauseTags = {MetricTag{"host"_str, ATALAYA_TAG_IDENTITY},
                                          MetricTag{"process"_str, ATALAYA_TAG_IDENTITY},
                                          MetricTag{"pid"_str, ATALAYA_TAG_IDENTITY}, MetricTag{"cause"_str, ATALAYA_TAG_IDENTITY}};
inline constexpr std::array kFunctionTags = {
    MetricTag{"host"_str, ATALAYA_TAG_IDENTITY}, MetricTag{"process"_str, ATALAYA_TAG_IDENTITY},
    MetricTag{"pid"_str, ATALAYA_TAG_IDENTITY}, MetricTag{"function"_str, ATALAYA_TAG_IDENTITY},
    MetricTag{"quality"_str, ATALAYA_TAG_IDENTITY}};
inline constexpr std::array kStackTags = {
    MetricTag{"host"_str, ATALAYA_TAG_IDENTITY},   MetricTag{"profile"_str, ATALAYA_TAG_IDENTITY},
    MetricTag{"bias"_str, ATALAYA_TAG_IDENTITY},   MetricTag{"process"_str, ATALAYA_TAG_IDENTITY},
    MetricTag{"pid"_str, ATALAYA_TAG_IDENTITY},    MetricTag{"function"_str, ATALAYA_TAG_IDENTITY},
    MetricTag{"quality"_str, ATALAYA_TAG_IDENTITY}};

template <size_t tags>
constexpr Metric metric(atalaya_str name, atalaya_str unit, uint32_t kind, int decimals, const std::array<MetricTag, tags> &keys,
                        atalaya_str source, atalaya_str summary) {
  return {name, unit, kind, decimals, keys.data(), tags, sizeof(MetricTag), source, summary};
}

inline constexpr std::array kOwn = {
    metric("proc.start.time"_str, "ns"_str, ATALAYA_GAUGE, kIsCount, kJvmTags, "/proc/PID/stat"_str,
           "When the process began, since 1970."_str),
    metric("jvm.gc.cause.seen"_str, "1"_str, ATALAYA_DELTA, kIsCount, kCauseTags, "sun.gc.lastCause"_str,
           "How often this was the cause of the last collection when the JVM was looked at and had collected since; what was "
           "collected in "
           "between is in no cause."_str),
    metric("jvm.threads.running"_str, "1"_str, ATALAYA_GAUGE, kIsCount, kJvmTags, "the last thread dump"_str,
           "Threads with Java code that took CPU time."_str),
    metric("jvm.threads.native"_str, "1"_str, ATALAYA_GAUGE, kIsCount, kJvmTags, "the last thread dump"_str,
           "Threads that are RUNNABLE and took none: most wait in a system call."_str),
    metric("jvm.threads.blocked"_str, "1"_str, ATALAYA_GAUGE, kIsCount, kJvmTags, "the last thread dump"_str,
           "Threads that wait to enter a monitor."_str),
    metric("jvm.threads.waiting"_str, "1"_str, ATALAYA_GAUGE, kIsCount, kJvmTags, "the last thread dump"_str,
           "Threads that wait until they are told."_str),
    metric("jvm.threads.sleeping"_str, "1"_str, ATALAYA_GAUGE, kIsCount, kJvmTags, "the last thread dump"_str,
           "Threads that wait with an end to it."_str),
    metric("jvm.profile.rate"_str, "1/s"_str, ATALAYA_RATE, kRateDecimals, kJvmTags, "the thread dumps"_str, "Thread dumps."_str),
    metric("jvm.profile.cost"_str, "%"_str, ATALAYA_RATE, kPercentDecimals, kJvmTags,
           "CLOCK_THREAD_CPUTIME_ID; sun.rt.safepointTime; CPU time of the Attach Listener"_str,
           "What they cost, here and in the JVM, where a pause costs what all the threads that run lose; 100 is one core."_str),
    metric("jvm.profile.pause"_str, "%"_str, ATALAYA_RATE, kPercentDecimals, kJvmTags, "sun.rt.safepointTime"_str,
           "Share of the window in which the JVM's threads stood for them."_str),
    metric("jvm.profile.cpu"_str, "%"_str, ATALAYA_RATE, kPercentDecimals, kJvmTags, "the thread dumps"_str,
           "CPU time that threads with Java code took, as the dumps count it; 100 is one core. Absent before JDK 11."_str),
    metric("jvm.profile.unseen"_str, "%"_str, ATALAYA_RATE, kPercentDecimals, kJvmTags, "the thread dumps"_str,
           "Of that, CPU time that is in no function: of threads that were not seen running for minutes, or until they ended. "
           "Told as the stack [not seen running]."_str),
    metric("jvm.profile.failures"_str, "1"_str, ATALAYA_DELTA, kIsCount, kJvmTags, "the attach protocol"_str,
           "Thread dumps that were asked for and did not come; the next one is asked for much later."_str),
    metric("jvm.profile.skipped"_str, "1"_str, ATALAYA_DELTA, kIsCount, kJvmTags, "/proc/PID/stat"_str,
           "Thread dumps that were not asked for, as the JVM was stopped."_str),
    metric("jvm.profile.lost"_str, "1"_str, ATALAYA_DELTA, kIsCount, kJvmTags, "the thread dumps"_str,
           "Stacks without room; their time is told as [stack lost]."_str),
    metric("jvm.function.self"_str, "s/s"_str, ATALAYA_RATE, 6, kFunctionTags, "the thread dumps"_str,
           "CPU time in the function itself, not in what it calls. The sample's text is the stack that most of it was in."_str),
    metric("profile.samples"_str, "1"_str, ATALAYA_DELTA, kIsCount, kStackTags, "the thread dumps"_str,
           "How often a thread was seen in the stack."_str),
    metric("profile.ns"_str, "ns"_str, ATALAYA_DELTA, kIsCount, kStackTags, "the thread dumps"_str,
           "CPU time that threads took in the stack; with threads = \"all\" the time they were in it."_str),
    metric("profile.cpu"_str, "ns"_str, ATALAYA_DELTA, kIsCount, kStackTags, "the thread dumps"_str,
           "With threads = \"all\": CPU time that threads took in the stack."_str),
    metric("jvm.count"_str, "1"_str, ATALAYA_GAUGE, kIsCount, kHostTags, "/proc/PID/maps"_str, "JVMs."_str),
    metric("jvm.unshared"_str, "1"_str, ATALAYA_GAUGE, kIsCount, kHostTags, "hsperfdata"_str,
           "Of these, JVMs that share nothing (-XX:-UsePerfData), or not with this process."_str),
    metric("jvm.source.cost"_str, "%"_str, ATALAYA_RATE, kPercentDecimals, kHostTags, "CLOCK_THREAD_CPUTIME_ID"_str,
           "What this source costs, its part of jvm.profile.cost included; 100 is one core."_str),
};

constexpr Metric metric_of(const Shown &shown) {
  constexpr std::array<atalaya_str, 6> units = {"By"_str, "1"_str, "1"_str, "s"_str, "1"_str, "%"_str};
  constexpr std::array<uint32_t, 6> kinds = {ATALAYA_GAUGE, ATALAYA_GAUGE, ATALAYA_TOTAL,
                                             ATALAYA_TOTAL, ATALAYA_DELTA, ATALAYA_RATE};
  constexpr std::array<int, 6> decimals = {kIsCount, kIsCount, kIsCount, kSecondDecimals, kIsCount, kPercentDecimals};
  const auto how = static_cast<size_t>(shown.how);
  return metric(shown.name, units[how], kinds[how], decimals[how], kJvmTags, shown.source, shown.summary);
}

constexpr auto all_metrics() {
  std::array<Metric, kShown.size() + kOwn.size()> all{};
  std::transform(kShown.begin(), kShown.end(), all.begin(), metric_of);
  std::copy(kOwn.begin(), kOwn.end(), all.begin() + kShown.size());
  return all;
}
inline constexpr auto kMetrics = all_metrics();

}  // namespace atalaya::jvm
