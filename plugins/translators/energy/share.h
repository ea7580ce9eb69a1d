// SPDX-License-Identifier: Apache-2.0
// How the energy of packages is divided: what they draw with nothing to do apart, the rest by who used CPU time. Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace atalaya::energy {

// What packages draw with nothing to do, in watts: the operator's number, else what the least power of an idle window says; until
// there was one, the idle share of the CPUs' time has its share of the power.
class IdlePower {
 public:
  explicit IdlePower(std::optional<double> given) : given_(given) {}
  // Of a window with this power and this share of all CPU time busy; never above the power.
  double of(double watts, double busy_share);

 private:
  std::optional<double> given_, lowest_;
};

struct User {
  double percent = 0;         // CPU time in the window; 100 is one core
  std::optional<double> mhz;  // where it ran, if that is known
};

struct Shares {
  std::vector<double> users;  // in their order
  double unattributed = 0;    // of CPU time that no user had
};
// Divides all of `amount` by CPU time, and by frequency among those whose it is known. `busy_percent` is what all CPUs were busy
// with.
Shares divide(double amount, std::span<const User> users, double busy_percent);

}  // namespace atalaya::energy
