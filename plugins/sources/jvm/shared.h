// SPDX-License-Identifier: Apache-2.0
// What a JVM counts of itself, from the bytes of its file hsperfdata_USER/PID. Pure.
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
  full_count,
  full_ticks,
  concurrent_count,
  concurrent_ticks,
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
  frequency,
  begin_ms,
  made_ms,
};
inline constexpr size_t kCounters = static_cast<size_t>(Counter::made_ms) + 1;
// The name under which JVMs share it.
std::string_view shared_name(Counter counter);

// A field that a BTrace script shares (@Export).
struct Export {
  std::string name;  // btrace.CLASS.FIELD, as a metric is called
  int64_t value = 0;
  bool operator==(const Export &) const = default;
};
// Any program may share as many, and call them as it likes.
inline constexpr size_t kMaxExports = 64, kMaxExportName = 256;

// Absent: this JVM does not say.
struct Shared {
  std::array<std::optional<int64_t>, kCounters> numbers;
  std::string last_cause;  // of the last collection that has ended
  std::vector<Export> exports;
  bool has_more_exports = false;  // than kMaxExports, or such with longer names
  const std::optional<int64_t> &operator[](Counter counter) const { return numbers[static_cast<size_t>(counter)]; }
};
// Nothing: these are no bytes of such a file.
std::optional<Shared> parse_shared(std::string_view bytes);

// Whether it has come up: before, it takes no calls.
bool is_up(const Shared &shared);

// What changes seldom, or never.
struct Identity {
  std::string version;    // "17.0.15"
  std::string vm;         // "OpenJDK 64-Bit Server VM 17.0.15+6-Debian-1deb12u1"
  std::string collector;  // "G1", "Serial", "Parallel", "ZGC"; of others what the JVM calls it
  std::string main;       // main class or file of the jar, without arguments
  std::string flags;      // options that begin with -X
  int64_t begin_ns = 0;   // since 1970, as the JVM has it; 0: unknown
  bool operator==(const Identity &) const = default;
};
Identity parse_identity(std::string_view bytes);

}  // namespace atalaya::jvm
