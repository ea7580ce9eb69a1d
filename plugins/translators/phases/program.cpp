// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/phases/program.h"

#include <algorithm>
#include <utility>

namespace atalaya::phases {

Program::Program(std::string name, Key key, const std::vector<Group> &groups, const Likeness &likeness)
    : name_(std::move(name)),
      key_(key),
      stacks_(symbols_, key, groups),
      book_(likeness),
      gc_(symbols_.number_of(kGcSymbol)),
      idle_(symbols_.number_of(kIdleSymbol)) {}

void Program::load_known_phases(const PhaseDatabase &database) {
  for (const KnownPhase &known : database.phases()) {
    if (known.application != name_ || known.key != key_) continue;
    std::vector<Part> parts;
    for (const Part &part : known.phase.profile.parts())
      parts.push_back({symbols_.number_of(database.symbols().text(part.symbol)), part.threads});
    if (!book_.add({Profile(std::move(parts), known.phase.profile.threads()), known.phase.epoch})) return;
    ids_.push_back(known.id);
    learned_ns_.push_back(known.learned_ns);
  }
}

size_t Program::assign_new_ids(int64_t now_ns) {
  const size_t first = ids_.size();
  for (size_t i = first; i < book_.size(); ++i) {
    std::vector<const Profile *> others;
    for (size_t j = 0; j < book_.size(); ++j)
      if (j != i) others.push_back(&book_.profiles()[j]);
    std::string id = id_of(book_.profiles()[i], others, symbols_);
    while (std::find(ids_.begin(), ids_.end(), id) != ids_.end()) id += '+';
    ids_.push_back(std::move(id));
    learned_ns_.push_back(now_ns);
  }
  return first;
}

std::string Program::definition(size_t phase) const {
  KnownPhase known;
  known.application = name_;
  known.id = ids_[phase];
  known.key = key_;
  known.phase = {book_.profiles()[phase], book_.epoch(phase), {}};
  known.learned_ns = learned_ns_[phase];
  return definition_json(known, symbols_);
}

}  // namespace atalaya::phases
