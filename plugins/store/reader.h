// SPDX-License-Identifier: Apache-2.0
// The reading side of the store. Never blocks the writer and is never blocked by it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/store/identity.h"
#include "plugins/store/sqlite.h"

namespace atalaya::store {

struct Point {
  int64_t time_ns = 0, duration_ns = 0;
  double value = 0;
};

class Reader {
 public:
  // Throws Error when there is no store at the path, or one that this program cannot read.
  explicit Reader(const std::string &path);

  int64_t point_count();
  std::vector<std::string> metrics();  // sorted
  // The points of one series whose time lies in (from, to], in order of time.
  std::vector<Point> scan(std::string_view metric, const Tags &tags, int64_t from_ns, int64_t to_ns);

 private:
  Database database_;
};

}  // namespace atalaya::store
