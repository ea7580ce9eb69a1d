// SPDX-License-Identifier: Apache-2.0
// Divides the energy of CPU packages: it subtracts the idle energy and divides the rest by CPU time. Pure functions.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace atalaya::energy {

// Power of the idle packages in watts: the configured value, else the minimum power of the idle windows so far. Before the first
// idle window it is the power of the window times the idle share of CPU time.
class IdlePower {
 public:
  explicit IdlePower(std::optional<double> configured) : configured_(configured) {}
  // The idle power of a window with this power and busy share of CPU time; at most `watts`.
  double watts_of(double watts, double busy_share);

 private:
  std::optional<double> configured_, minimum_;
};

struct User {
  double percent = 0;         // CPU time in the window; 100 is one core
  std::optional<double> mhz;  // frequency of its CPU; absent: unknown
};

struct Shares {
  std::vector<double> users;  // one share per user, in the order of the input
  double unattributed = 0;    // share of the busy time that belongs to no user
};
// Divides `amount` in the ratio of CPU time; among users with a known frequency, in the ratio of CPU time x frequency.
// `busy_percent` is the busy time of all CPUs.
Shares divide(double amount, std::span<const User> users, double busy_percent);

}  // namespace atalaya::energy
