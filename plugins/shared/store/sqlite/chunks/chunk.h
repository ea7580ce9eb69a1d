// SPDX-License-Identifier: Apache-2.0
// A chunk: many points of one entity, compressed. chunk_format.h describes its bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/shared/store/sqlite/rows/fields.h"

namespace atalaya::store {

// The points of one metric: ascending times, none twice.
struct Column {
  int64_t metric = 0;
  std::vector<int64_t> times_ns, durations_ns;
  std::vector<Number> values;

  size_t size() const { return times_ns.size(); }
  void reserve(size_t points);
  void clear();
  // A point with the time of the last point replaces it.
  void add(int64_t time_ns, int64_t duration_ns, const Number &value);
};

// The times from the first to the last point of columns; without points, the first one is after the last one.
struct TimeInterval {
  int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;

  void add(const Column &column);
};

// Merges the points of both. At equal times the new ones are used.
Column merged(const Column &old, const Column &fresh);
// The points with the indices `begin` to `end` - 1.
Column part_of(const Column &column, size_t begin, size_t end);

struct Chunk {
  std::string head;  // its contents and sums, which are enough for long queries
  std::string data;
  int64_t first_ns = 0, last_ns = 0;
};

}  // namespace atalaya::store
