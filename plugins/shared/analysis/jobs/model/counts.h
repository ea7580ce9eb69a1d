// SPDX-License-Identifier: Apache-2.0
// The values that frameworks report of a task and that rules compare.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace atalaya::jobs {

constexpr int64_t kUnknown = -1;  // an unknown number of bytes, or the duration of an open span

enum class Count : uint8_t {
  run_ns,           // of the task's own code, without start and end
  cpu_ns,           // of the task's thread in Spark, of its process in MapReduce
  deserialize_ns,   // of the task's code
  serialize_ns,     // of its result
  fetch_wait_ns,    // for blocks of a shuffle
  write_ns,         // of a shuffle
  written_bytes,    // of a shuffle
  spilled_bytes,    // on disk
  spilled_memory,   // the same data in memory
  peak_memory,      // of sorts, aggregations and joins
  shuffled_bytes,   // read from a shuffle, of the executor itself
  remote_shuffled,  // read from a shuffle of other executors
  input_bytes,      // read from files
  result_bytes,     // sent to the driver
  spilled_records,  // of MapReduce: written by spills and merges
  output_records,   // of a map
  count
};

class Counts {
 public:
  Counts() { values_.fill(kUnknown); }
  int64_t of(Count count) const { return values_[static_cast<size_t>(count)]; }
  bool has(Count count) const { return of(count) != kUnknown; }
  int64_t or_zero(Count count) const { return has(count) ? of(count) : 0; }
  void set(const struct CountName &name, int64_t value);

 private:
  std::array<int64_t, static_cast<size_t>(Count::count)> values_;
};

// The metric of a count, and the number of the count's units in the metric's unit.
struct CountName {
  std::string_view metric;
  Count count;
  int64_t factor;
};
// nullptr: no count has this name.
const CountName *count_of(std::string_view metric);

// Whether a field of a stage shows that its query called Python functions.
bool is_of_python(std::string_view metric);
// Whether it is a metric of an operator of a query.
bool is_of_query(std::string_view metric);

}  // namespace atalaya::jobs
