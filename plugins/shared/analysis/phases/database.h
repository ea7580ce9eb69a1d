// SPDX-License-Identifier: Apache-2.0
// Known phases of programs: as definitions in JSON, merged over hosts and runs, and as books for the recognition. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "plugins/shared/analysis/phases/mining/trace.h"
#include "plugins/shared/analysis/phases/models/characterise.h"
#include "plugins/shared/analysis/phases/usage.h"

namespace atalaya::phases {

inline constexpr int kDefinitionVersion = 1;

// The symbols of a phase: whole stacks, or functions wherever they are in a stack. Phases of different keys are never compared.
enum class Key : uint8_t { function, stack };
std::string_view text_of(Key key);

struct KnownPhase {
  std::string application, id;
  Key key = Key::function;
  MinedPhase phase;
  int64_t learned_ns = 0;
  // Known from occurrences, in exports only.
  Moments seconds;
  Usage usage;
  std::map<std::pair<std::string, std::string>, uint64_t> before;  // the two phases before it, the nearer one last; how often
};

// A name for people from the function that distinguishes the phase from the others, and four digits of its functions' hash.
std::string id_of(const Profile &profile, const std::vector<const Profile *> &others, const Symbols &symbols);

// Functions that are too rare for a comparison are left out; at most 256 of them, with 64 KiB of names.
std::string definition_json(const KnownPhase &known, const Symbols &symbols);
// Checks everything: definitions come from other hosts, too.
core::Result<KnownPhase> read_definition(std::string_view json, Symbols &symbols);
core::Result<std::vector<KnownPhase>> read_export(std::string_view json, Symbols &symbols);

class PhaseDatabase {
 public:
  explicit PhaseDatabase(const Likeness &likeness = {}) : likeness_(likeness), symbols_(size_t{1} << 20, size_t{256} << 20) {}

  // A phase that matches a known one of its application is merged with it, which keeps its id.
  void add(const KnownPhase &phase);
  core::Status add_definition(std::string_view json);
  // A whole export: {"format":"atalaya-phases","version":1,"phases":[...]}.
  core::Status import(std::string_view json);
  std::string exported() const;

  const std::vector<KnownPhase> &phases() const { return phases_; }
  std::vector<KnownPhase> &phases() { return phases_; }
  const KnownPhase *find(std::string_view application, std::string_view id) const;
  // The id that a phase was merged into; else its own.
  std::string canonical(const std::string &application, const std::string &id) const;
  Symbols &symbols() { return symbols_; }
  const Symbols &symbols() const { return symbols_; }
  const Likeness &likeness() const { return likeness_; }

 private:
  Likeness likeness_;
  Symbols symbols_;
  std::vector<KnownPhase> phases_;
  std::map<std::pair<std::string, std::string>, std::string> aliases_;  // by application and id
};

}  // namespace atalaya::phases
