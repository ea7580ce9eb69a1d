// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/names/resolve/lineage.h"

#include <algorithm>
#include <utility>

namespace atalaya::names {
namespace {

constexpr size_t kMaxAncestors = 64;  // deeper trees lose the tags of the first ones
constexpr int32_t kInit = 1;

}  // namespace

Lineage::Inherited Lineage::of(const Relative &process) {
  Inherited known;
  const std::vector<Relative> unknown = climb(process, known);
  for (auto ancestor = unknown.rbegin(); ancestor != unknown.rend(); ++ancestor) {
    Member &one = member(*ancestor);
    one.inherited = std::move(known.tags);
    one.inherited_settled = known.settled;
    add(one, *ancestor, reader_.program(ancestor->pid));
    known = {one.passed, one.settled};
  }
  Member &self = member(process);
  self.inherited = known.tags;
  self.inherited_settled = known.settled;
  return known;
}

bool Lineage::learn(const Relative &process, const Program &program) {
  Member &self = member(process);
  add(self, process, program);
  return !self.passed.empty();
}

std::vector<Relative> Lineage::climb(const Relative &process, Inherited &known) {
  std::vector<Relative> unknown;
  Relative at = process;
  while (unknown.size() < kMaxAncestors) {
    // The parent that it had at first has ended.
    if (const Member *self = find(at); self != nullptr && self->last.parent != at.parent) {
      known = {self->inherited, self->inherited_settled};
      break;
    }
    if (at.parent <= kInit) break;
    const auto parent = reader_.find(at.parent);
    if (!parent || parent->start_ticks > at.start_ticks) break;
    if (const Member *one = find(*parent); one != nullptr && is_current(*one, *parent)) {
      known = {one->passed, one->settled};
      break;
    }
    unknown.push_back(*parent);
    at = *parent;
  }
  return unknown;
}

// A process that is ending has no image, and its program cannot be read.
bool Lineage::is_current(const Member &member, const Relative &now) {
  return member.settled && member.last.name == now.name && (member.last.image == now.image || now.image == 0);
}

void Lineage::add(Member &member, const Relative &now, const Program &program) {
  member.last.image = now.image;
  member.last.name = now.name;
  member.settled = program.settled && member.inherited_settled;
  member.passed = member.inherited;
  for (const Naming::Tag &tag : program.tags) {
    if (!tag.inherited) continue;
    const auto same = std::find_if(member.passed.begin(), member.passed.end(), [&](const auto &one) { return one.tag == tag.tag; });
    if (same == member.passed.end())
      member.passed.push_back(tag);
    else
      *same = tag;
  }
}

Lineage::Member *Lineage::find(const Relative &process) {
  auto found = young_.find(process.pid);
  if (found == young_.end()) {
    const auto old = old_.find(process.pid);
    if (old == old_.end()) return nullptr;
    found = young_.insert_or_assign(process.pid, std::move(old->second)).first;
    old_.erase(old);
  }
  return found->second.last.start_ticks == process.start_ticks ? &found->second : nullptr;
}

Lineage::Member &Lineage::member(const Relative &process) {
  if (Member *found = find(process)) return *found;
  if (young_.size() >= half_) old_ = std::exchange(young_, {});
  Member &added = young_[process.pid] = {};
  added.last = {.pid = process.pid, .parent = process.parent, .start_ticks = process.start_ticks};
  return added;
}

}  // namespace atalaya::names
