// SPDX-License-Identifier: Apache-2.0
// Names of hosts: most histories have full names and agents short ones: n1.example.org is n1.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::jobs {

// The part before the first dot; "" for addresses.
std::string_view first_label(std::string_view host);

class SameHosts {
 public:
  // `span_hosts`: the names in the spans of jobs. `stored`: the names in the data to match.
  SameHosts(const std::set<std::string> &span_hosts, const std::set<std::string> &stored);

  // The name of a stored host in the spans: the same, or the only one with the same first label; nullptr if there is none.
  const std::string *span_host_of(const std::string &stored) const;
  // Notes on matched and ambiguous names. `subject`: "metrics"
  std::vector<std::string> notes(const std::string &subject) const;

 private:
  std::map<std::string, std::string> span_names_;
  std::map<std::string, std::set<std::string>> ambiguous_;  // names in spans, and their candidates
};

}  // namespace atalaya::jobs
