// SPDX-License-Identifier: Apache-2.0
// The activity of a process in some samples: the functions, the share of threads in each, the number of threads; and the
// similarity of two such profiles. docs/decisions/phases.md explains the measures. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plugins/shared/analysis/phases/mining/moments.h"
#include "plugins/shared/analysis/phases/mining/trace.h"

namespace atalaya::phases {

class Profile {
 public:
  Profile() = default;
  Profile(const Trace &trace, size_t begin, size_t end);
  Profile(std::vector<Part> parts, const Moments &threads);

  void add(const Profile &other);
  std::span<const Part> parts() const { return parts_; }  // functions in the order of symbols, with sums of threads
  double total() const { return total_; }                 // sum of threads of all parts
  const Moments &threads() const { return threads_; }     // threads per sample
  size_t samples() const { return static_cast<size_t>(threads_.count); }
  double share(uint32_t symbol) const;
  // The same profile with other symbol numbers.
  Profile renamed(std::span<const uint32_t> symbols) const;

 private:
  std::vector<Part> parts_;
  double total_ = 0;
  Moments threads_;
};

struct Similarity {
  double functions = 0;  // f_sim: common functions / functions of the larger set
  double times = 0;      // t_sim: affinity of the histograms, 0 to 1
  double distance = 0;   // Eq. 2 as printed: squared-chord distance over the common functions, 0 to 2
};

// The minimum t_sim of a phase and its parts, and of a phase in different runs.
inline constexpr double kMinAffinity = 0.8;

struct Likeness {
  double similarity = 0.95;  // minimum f_sim and t_sim
  double rare = 0.02;        // functions with a lower share in both profiles are one class
};

Similarity similarity(const Profile &a, const Profile &b, double rare);
// Whether the numbers of threads differ significantly (Welch's test, 0.1 %) and by more than a tenth.
bool differ_in_threads(const Moments &a, const Moments &b);
// Whether the profiles are alike in functions, times and number of threads.
bool match(const Profile &a, const Profile &b, const Likeness &likeness);
// Whether the profiles are as similar as those of a phase in different runs: times differ, for example with the speed of a
// disk, and so do rare functions.
bool nearly_match(const Profile &a, const Profile &b, const Likeness &likeness);

}  // namespace atalaya::phases
