// SPDX-License-Identifier: Apache-2.0
// Units of axes: bytes and bits with the binary prefix that suits the values.
#pragma once

#include <string>

namespace atalaya::plot {

struct AxisUnit {
  std::string name;   // "GiB/s"
  double factor = 1;  // its size in bytes or bits; 1 for other units
};
// "B/s" for "MiB/s" and "B/s"; other units are their own dimension.
std::string dimension_of(const std::string &unit);
// Bytes or bits in this unit; 1 for other units.
double base_factor(const std::string &unit);
// For values up to `largest` bytes or bits, from 1 to 1023 of its unit if possible. `unit` is that of a line.
AxisUnit axis_unit(const std::string &unit, double largest);

}  // namespace atalaya::plot
