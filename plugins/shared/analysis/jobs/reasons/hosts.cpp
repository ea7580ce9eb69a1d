// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/reasons/hosts.h"

#include <algorithm>

#include "core/base/text/text.h"

namespace atalaya::jobs {
namespace {

using Labels = std::map<std::string_view, std::set<std::string>>;

Labels by_label(const std::set<std::string> &hosts) {
  Labels labels;
  for (const std::string &host : hosts)
    if (const std::string_view label = first_label(host); !label.empty()) labels[label].insert(host);
  return labels;
}

// A list of the first names, and the number of the others.
std::string list_of(const std::vector<std::string> &all) {
  constexpr size_t kMaxListed = 3;
  std::string text;
  for (size_t i = 0; i < std::min(all.size(), kMaxListed); ++i) text += (i == 0 ? "" : ", ") + all[i];
  return all.size() > kMaxListed ? text + " and " + std::to_string(all.size() - kMaxListed) + " more" : text;
}

}  // namespace

std::string_view first_label(std::string_view host) {
  const std::string_view label = host.substr(0, host.find('.'));
  return label.find_first_not_of("0123456789") == std::string_view::npos || label.find(':') != std::string_view::npos ? "" : label;
}

SameHosts::SameHosts(const std::set<std::string> &span_hosts, const std::set<std::string> &stored) {
  const Labels span_labels = by_label(span_hosts);
  Labels stored_labels;
  for (const auto &[label, hosts] : by_label(stored))
    for (const std::string &host : hosts)
      if (!span_hosts.contains(host)) stored_labels[label].insert(host);
  for (const std::string &host : stored)
    if (span_hosts.contains(host)) span_names_[host] = host;
  for (const auto &[label, candidates] : stored_labels) {
    const auto same = span_labels.find(label);
    if (same == span_labels.end()) continue;
    std::set<std::string> without;  // names without an exact match
    for (const std::string &host : same->second)
      if (!stored.contains(host)) without.insert(host);
    if (candidates.size() == 1 && same->second.size() == 1 && without.size() == 1)
      span_names_[*candidates.begin()] = *without.begin();
    else
      for (const std::string &host : without) ambiguous_[host] = candidates;
  }
}

const std::string *SameHosts::span_host_of(const std::string &stored) const {
  const auto found = span_names_.find(stored);
  return found == span_names_.end() ? nullptr : &found->second;
}

std::vector<std::string> SameHosts::notes(const std::string &subject) const {
  std::vector<std::string> taken, unclear, notes;
  for (const auto &[stored, span_host] : span_names_)
    if (stored != span_host) taken.push_back(core::in_quotes(stored) + " for " + core::in_quotes(span_host));
  for (const auto &[span_host, candidates] : ambiguous_)
    for (const std::string &candidate : candidates)
      unclear.push_back(core::in_quotes(span_host) + " or " + core::in_quotes(candidate));
  if (!taken.empty()) notes.push_back(subject + ": hosts with the same first label are treated as one: " + list_of(taken));
  if (!unclear.empty())
    notes.push_back(subject + ": several hosts have the same first label, the match is ambiguous: " + list_of(unclear) +
                    "; use `hosts` of source hadoop to give nodes the names of agents");
  return notes;
}

}  // namespace atalaya::jobs
