// SPDX-License-Identifier: Apache-2.0
// Extracts the counters of a JVM from the bytes of its file hsperfdata_USER/PID. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::jvm {

enum class Counter : uint8_t {
  survivor0_capacity,
  survivor0_used,
  survivor1_capacity,
  survivor1_used,
  eden_capacity,
  eden_used,
  old_capacity,
  old_used,
  permanent_capacity,
  permanent_used,
  metaspace_capacity,
  metaspace_used,
  classspace_capacity,
  classspace_used,
  young_count,
  young_ticks,
  young_entry,  // start of the last collection, in ticks of the JVM's clock
  young_exit,
  full_count,
  full_ticks,
  full_entry,
  full_exit,
  concurrent_count,
  concurrent_ticks,
  concurrent_entry,
  concurrent_exit,
  safepoint_count,
  safepoint_ticks,
  safepoint_sync_ticks,
  threads_live,
  threads_daemon,
  threads_peak,
  threads_started,
  classes_loaded,
  classes_loaded_shared,
  classes_unloaded,
  classes_unloaded_shared,
  compile_count,
  compile_failed,
  compile_ticks,
  ticks,  // the JVM's clock in ticks, updated several times per second
  frequency,
  start_ms,
  started_ms,  // time at which the JVM's start was complete; 0: not yet
};
inline constexpr size_t kCounters = static_cast<size_t>(Counter::started_ms) + 1;
// Returns the counter's name in the file.
std::string_view shared_name(Counter counter);

// A field that a BTrace script exports (@Export).
struct Export {
  std::string name;  // btrace.CLASS.FIELD, a valid metric name
  int64_t value = 0;
  bool operator==(const Export &) const = default;
};
// Limits, because a program may export any number of fields with any name.
inline constexpr size_t kMaxExports = 64, kMaxExportName = 256;

// The counters of a JVM; a counter that this JVM does not report is absent.
struct JvmCounters {
  std::array<std::optional<int64_t>, kCounters> numbers;
  std::string last_cause;  // cause of the last completed collection
  std::vector<Export> exports;
  bool has_more_exports = false;  // more fields than kMaxExports, or names above kMaxExportName
  const std::optional<int64_t> &operator[](Counter counter) const { return numbers[static_cast<size_t>(counter)]; }
};
// Counters of one garbage collector, each of whose collections stops all threads.
struct CollectorCounters {
  Counter count, ticks, entry, exit;
};
inline constexpr std::array kCollectors = {
    CollectorCounters{Counter::young_count, Counter::young_ticks, Counter::young_entry, Counter::young_exit},
    CollectorCounters{Counter::full_count, Counter::full_ticks, Counter::full_entry, Counter::full_exit},
    CollectorCounters{Counter::concurrent_count, Counter::concurrent_ticks, Counter::concurrent_entry, Counter::concurrent_exit}};
// Returns true if a collection runs.
bool is_running(const JvmCounters &shared, const CollectorCounters &collector);

// Parses the bytes of an hsperfdata file; empty if they are not one.
std::optional<JvmCounters> parse_counters(std::string_view bytes);

// Returns true if the JVM has started and accepts attach commands.
bool is_up(const JvmCounters &shared);

// Properties of a JVM that rarely or never change.
struct Identity {
  std::string version;    // "17.0.15"
  std::string vm;         // "OpenJDK 64-Bit Server VM 17.0.15+6-Debian-1deb12u1"
  std::string collector;  // "G1", "Serial", "Parallel", "ZGC"; otherwise the JVM's name for it
  std::string main;       // main class or file of the jar, without arguments
  std::string flags;      // options with the prefix -X
  int64_t start_ns = 0;   // Unix time of the start that the JVM reports; 0: unknown
  bool operator==(const Identity &) const = default;
};
Identity parse_identity(std::string_view bytes);

}  // namespace atalaya::jvm
