// SPDX-License-Identifier: Apache-2.0
// One reading of a process, from procfs or another backend.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace atalaya::procfs {

// Counters since the start of the process. They only increase; a smaller value means a reset.
enum class Counter : uint8_t {
  user_ns,
  kernel_ns,
  delay_ns,
  disk_reads_bytes,
  disk_writes_bytes,
  reads_bytes,
  writes_bytes,
  reads_calls,
  writes_calls,
  faults_minor,
  faults_major,
  switches_voluntary,
  switches_involuntary,
};
constexpr size_t kCounters = 13;

constexpr bool counts_calls(Counter counter) {
  return counter >= Counter::reads_bytes && counter <= Counter::writes_calls;
}
constexpr bool counts_io(Counter counter) {
  return counter == Counter::disk_reads_bytes || counter == Counter::disk_writes_bytes || counts_calls(counter);
}

// The basis of the I/O counters of a reading. Only increases between readings with the same basis are those of the process.
// Numbers above these mean an unknown start of counting, each a different one.
enum IoBasis : uint32_t {
  kIoSinceStart,   // all threads since the start, without children
  kIoOfMainThread  // the main thread; equal to kIoSinceStart if the process never had another thread
};

// Current values of a process.
enum class Gauge : uint8_t { resident_kib, virtual_kib, swap_kib, threads, state, parent, open_files };
constexpr size_t kGauges = 7;

// Values by key; each may be unknown.
template <class Key, size_t size, class Value = uint64_t>
class Known {
 public:
  void set(Key key, Value value) {
    values_[index(key)] = value;
    mask_ |= bit(key);
  }
  void forget(Key key) { mask_ &= ~bit(key); }
  // Adds the known values of `more`.
  void add(const Known &more) {
    for (size_t i = 0; i < size; ++i)
      if (const auto key = static_cast<Key>(i); more.has(key)) set(key, (has(key) ? get(key) : 0) + more.get(key));
  }
  bool has(Key key) const { return (mask_ & bit(key)) != 0; }
  Value get(Key key) const { return values_[index(key)]; }

 private:
  static constexpr size_t index(Key key) { return static_cast<size_t>(key); }
  static constexpr uint32_t bit(Key key) { return uint32_t{1} << index(key); }
  std::array<Value, size> values_{};
  uint32_t mask_ = 0;
};

// The kernel's name of a process, any bytes but 0: at most 15 of a program, at most 63 of a kernel worker.
class Name {
 public:
  Name() = default;
  explicit Name(std::string_view text) : size_(static_cast<uint8_t>(text.size() < kMax ? text.size() : kMax)) {
    std::memcpy(bytes_.data(), text.data(), size_);
  }
  std::string_view text() const { return {bytes_.data(), size_}; }
  bool operator==(const Name &other) const { return text() == other.text(); }

 private:
  static constexpr size_t kMax = 63;
  std::array<char, kMax> bytes_{};
  uint8_t size_ = 0;
};

// The name without the suffix of a kernel worker ("kworker/0:1-events"), which is its last work: with it, one thread would have
// many series.
inline std::string_view stable_name(std::string_view name) {
  constexpr std::string_view worker = "kworker/";
  if (!name.starts_with(worker) || name.size() == worker.size()) return name;
  const char first = name[worker.size()];
  return first == 'u' || (first >= '0' && first <= '9') ? name.substr(0, name.find_first_of("-+", worker.size())) : name;
}

struct ProcessReading {
  int32_t pid = 0;
  bool kernel_thread = false;
  bool partial = false;  // the counters could not be read consistently and are absent
  bool ended = false;    // a zombie, whose end and total usage are reported separately
  Name name;
  uint64_t start_ns = 0;     // start, since boot; pid and start identify the process
  int64_t monotonic_ns = 0;  // time of the reading
  int64_t user = -1;         // effective user id; -1: unknown
  // Exact CPU time; 0: unknown. If it is known, user_ns and kernel_ns, which count ticks, are used only to divide it.
  uint64_t exec_ns = 0;
  uint64_t ended_threads_ns = 0;  // the part of exec_ns of ended threads
  uint32_t io_basis = kIoSinceStart;
  Known<Counter, kCounters> counters;
  Known<Gauge, kGauges> gauges;
};

}  // namespace atalaya::procfs
