// SPDX-License-Identifier: Apache-2.0
// Mean, standard deviation and skewness of values that come one by one or in parts. Pure.
#pragma once

#include <algorithm>
#include <cmath>

namespace atalaya::phases {

struct Moments {
  double count = 0, mean = 0;
  double squares = 0, cubes = 0;  // sums of powers of the distance from the mean

  void add(double value) { add(Moments{1, value, 0, 0}); }
  // Adds all values of the other object.
  void add(const Moments &other) {
    if (other.count <= 0) return;
    const double all = count + other.count, apart = other.mean - mean;
    const double shared = count * other.count / all;
    cubes += other.cubes + apart * apart * apart * shared * (count - other.count) / all +
             3 * apart * (count * other.squares - other.count * squares) / all;
    squares += other.squares + apart * apart * shared;
    mean += apart * other.count / all;
    count = all;
  }
  double variance() const { return count > 1 ? squares / (count - 1) : 0; }
  double deviation() const { return std::sqrt(variance()); }
  // Returns 0 if the values differ only by rounding errors.
  double skewness() const {
    const double rounding = 1e-12 * (mean * mean + 1e-300);
    return count > 1 && squares / count > rounding ? cubes / count / std::pow(squares / count, 1.5) : 0;
  }
  bool operator==(const Moments &) const = default;
};

// The quantile of Student's distribution for 0.1 % on both sides together: Cornish and Fisher's expansion, to 1 % from 7 degrees
// on.
inline double student_limit(double degrees) {
  constexpr double z = 3.2905267, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  const double d = std::max(degrees, 1.0);
  return z + (z3 + z) / (4 * d) + (5 * z5 + 16 * z3 + 3 * z) / (96 * d * d) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * d * d * d);
}

}  // namespace atalaya::phases
