// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/energy/share.h"

#include <algorithm>

namespace atalaya::energy {
namespace {

constexpr double kIdleShare = 0.05;  // a window with a smaller busy share is idle

// The mean frequency, weighted by CPU time, of the users with a known one. Weights are relative to it, so that the sum of the
// weights of these users equals the sum of their CPU times.
double mean_mhz(std::span<const User> users) {
  double time = 0, cycles = 0;
  for (const User &user : users) {
    if (!user.mhz) continue;
    time += user.percent;
    cycles += user.percent * *user.mhz;
  }
  return time > 0 ? cycles / time : 0;
}

}  // namespace

double IdlePower::watts_of(double watts, double busy_share) {
  if (configured_) return std::min(*configured_, watts);
  const double by_share = watts * (1 - busy_share);
  if (busy_share < kIdleShare) minimum_ = std::min(minimum_.value_or(by_share), by_share);
  return std::min(minimum_.value_or(by_share), watts);
}

Shares divide(double amount, std::span<const User> users, double busy_percent) {
  const double mean = mean_mhz(users);
  Shares shares;
  double time = 0;
  for (const User &user : users) {
    time += user.percent;
    shares.users.push_back(user.mhz && mean > 0 ? user.percent * *user.mhz / mean : user.percent);
  }
  const double rest = std::max(busy_percent - time, 0.0), all = time + rest;
  shares.unattributed = all > 0 ? amount * rest / all : amount;
  for (double &share : shares.users) share = all > 0 ? amount * share / all : 0;
  return shares;
}

}  // namespace atalaya::energy
