// SPDX-License-Identifier: Apache-2.0
// The data that all processes of one program share: symbols, known phases and their ids.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/phases/assemble.h"
#include "plugins/shared/analysis/phases/database.h"
#include "plugins/shared/analysis/phases/models/characterise.h"

namespace atalaya::phases {

class Program {
 public:
  Program(std::string name, Key key, const std::vector<Group> &groups, const Likeness &likeness);
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;

  // Loads the phases of this program and key from the database.
  void load_known_phases(const PhaseDatabase &database);
  // Assigns ids to the phases that were learned since the last call; returns the index of the first.
  size_t assign_new_ids(int64_t now_ns);

  const std::string &id(size_t phase) const { return ids_[phase]; }
  // The definition of a phase, as JSON.
  std::string definition(size_t phase) const;
  PhaseBook &book() { return book_; }
  StackReader &stacks() { return stacks_; }
  uint64_t lost() const { return symbols_.lost(); }
  size_t symbols() const { return symbols_.size(); }
  uint32_t gc_symbol() const { return gc_; }
  uint32_t idle_symbol() const { return idle_; }

 private:
  static constexpr size_t kMaxSymbols = 16384, kMaxBytes = size_t{4} << 20;

  const std::string name_;
  const Key key_;
  Symbols symbols_{kMaxSymbols, kMaxBytes};
  StackReader stacks_;
  PhaseBook book_;
  std::vector<std::string> ids_;
  std::vector<int64_t> learned_ns_;
  uint32_t gc_, idle_;
};

}  // namespace atalaya::phases
