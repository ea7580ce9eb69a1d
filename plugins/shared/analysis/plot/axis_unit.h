// SPDX-License-Identifier: Apache-2.0
// Selects the units of axes: bytes and bits get the binary prefix that suits the values.
#pragma once

#include <string>

namespace atalaya::plot {

struct AxisUnit {
  std::string name;   // "GiB/s"
  double factor = 1;  // bytes or bits per unit; 1 for other units
};
// Returns the unit without its prefix: "B/s" for "MiB/s" and "B/s". Other units are unchanged.
std::string dimension_of(const std::string &unit);
// Returns the bytes or bits per unit; 1 for other units.
double base_factor(const std::string &unit);
// Returns the axis unit for values up to `largest` bytes or bits, so that the largest is 1 to 1023 units if possible. `unit`: unit
// of a line.
AxisUnit axis_unit(const std::string &unit, double largest);

}  // namespace atalaya::plot
