// SPDX-License-Identifier: Apache-2.0
// The parts of a range with samples: windows, which overlap, follow one another, or leave gaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace atalaya::query {

class Coverage {
 public:
  void add(int64_t begin_ns, int64_t end_ns);
  void add(const Coverage &other);
  int64_t length_ns() const;
  int64_t end_ns() const { return parts_.empty() ? 0 : parts_.rbegin()->second; }
  size_t parts() const { return parts_.size(); }  // number of parts without a gap in between

 private:
  std::map<int64_t, int64_t> parts_;  // end of each part by its start
};

}  // namespace atalaya::query
