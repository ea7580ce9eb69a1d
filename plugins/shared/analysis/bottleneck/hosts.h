// SPDX-License-Identifier: Apache-2.0
// Hosts have full names in most histories and short ones in what agents tell: n1.example.org is n1.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::bottleneck {

// What is before the first dot; "" of addresses, which have no such thing.
std::string_view first_label(std::string_view host);

class SameHosts {
 public:
  // `told`: as the spans of jobs have them. `stored`: those of what is to be looked at with them.
  SameHosts(const std::set<std::string> &data, const std::set<std::string> &stored);

  // How the spans call a stored host: the same, or the only one with its first label; nullptr where they do not.
  const std::string *told_of(const std::string &stored) const;
  // Which names were taken for one, and which could not be. `what`: "metrics"
  std::vector<std::string> notes(const std::string &what) const;

 private:
  std::map<std::string, std::string> told_of_;
  std::map<std::string, std::set<std::string>> unclear_;  // told ones, and what they may be
};

}  // namespace atalaya::bottleneck
