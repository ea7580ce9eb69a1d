// SPDX-License-Identifier: Apache-2.0
// Divides the energy of packages: idle energy first, the rest by CPU time. Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace atalaya::energy {

// Power of the idle packages in watts: the operator's number, else the least power of an idle window; before the first idle window,
// the idle share of CPU time takes the same share of the power.
class IdlePower {
 public:
  explicit IdlePower(std::optional<double> given) : given_(given) {}
  // For a window with this power and busy share of CPU time; never above the power.
  double of(double watts, double busy_share);

 private:
  std::optional<double> given_, lowest_;
};

struct User {
  double percent = 0;         // CPU time in the window; 100 is one core
  std::optional<double> mhz;  // of its CPU, if known
};

struct Shares {
  std::vector<double> users;  // in their order
  double unattributed = 0;    // of CPU time of no user
};
// Divides `amount` by CPU time, weighted by frequency among users with a known one. `busy_percent` is the busy time of all CPUs.
Shares divide(double amount, std::span<const User> users, double busy_percent);

}  // namespace atalaya::energy
