// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/receive/name_budget.h"

#include <algorithm>

namespace atalaya::receive {
namespace {

constexpr int64_t kNameAge = 3'600'000'000'000, kNamesSweptEvery = 60'000'000'000;
constexpr size_t kSenders = 8;  // number of senders that together can reach the total limit

}  // namespace

void NameBudget::expire(int64_t now_ns) {
  if (now_ns < last_sweep_ns_ + kNamesSweptEvery) return;
  last_sweep_ns_ = now_ns;
  for (auto &[name, entry] : names_) {
    if (!entry.counts || now_ns < entry.used_ns + kNameAge) continue;
    entry.counts = false;
    --counted_.names;
    counted_.bytes -= name.size();
    if (entry.sender == nullptr) continue;
    --entry.sender->names;
    entry.sender->name_bytes -= name.size();
    entry.sender.reset();
  }
}

uint32_t NameBudget::find(std::string_view name, const SenderPtr &sender, int64_t now_ns) {
  const auto known = names_.find(name);
  if (known == names_.end()) return 0;
  Entry &entry = known->second;
  entry.used_ns = now_ns;
  if (!entry.counts) count(name, entry, sender);
  return entry.id;
}

// A sender's total limit is at least half of `max_names`, so that it never reduces the counted limit.
bool NameBudget::sender_permits(const Sender &sender) const {
  const Amount its{std::max(max_counted_.names / 2, max_total_.names / kSenders),
                   std::max(max_counted_.bytes / 2, max_total_.bytes / kSenders)};
  return !sender_full(sender) && !reached({sender.total_names, sender.total_name_bytes}, its, 1);
}

void NameBudget::add(std::string_view name, uint32_t id, const SenderPtr &sender, int64_t now_ns) {
  const auto [entry, added] = names_.emplace(name, Entry{id, now_ns, false, nullptr});
  if (!added) return;
  ++added_.names;
  added_.bytes += name.size();
  if (sender != nullptr) {
    ++sender->total_names;
    sender->total_name_bytes += name.size();
  }
  count(name, entry->second, sender);
}

void NameBudget::count(std::string_view name, Entry &entry, const SenderPtr &sender) {
  entry.counts = true;
  entry.sender = sender;
  ++counted_.names;
  counted_.bytes += name.size();
  if (sender == nullptr) return;
  ++sender->names;
  sender->name_bytes += name.size();
}

}  // namespace atalaya::receive
