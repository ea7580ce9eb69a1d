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
  // durations of its occurrences; only in exports
  Moments seconds;
  Usage usage;
  // number of occurrences by the two phases before it, the nearer one last
  std::map<std::pair<std::string, std::string>, uint64_t> before;
};

// Returns a readable id: the function that distinguishes the phase from the others, and four digits of the hash of its
// functions.
std::string id_of(const Profile &profile, const std::vector<const Profile *> &others, const Symbols &symbols);

// Formats the definition as JSON. Omits functions that are too rare for a comparison; maximum 256 functions with 64 KiB of
// names.
std::string definition_json(const KnownPhase &known, const Symbols &symbols);
// Parses a definition. Checks all values, because definitions also come from other hosts.
core::Result<KnownPhase> read_definition(std::string_view json, Symbols &symbols);
core::Result<std::vector<KnownPhase>> read_export(std::string_view json, Symbols &symbols);

class PhaseDatabase {
 public:
  explicit PhaseDatabase(const Likeness &likeness = {}) : likeness_(likeness), symbols_(size_t{1} << 20, size_t{256} << 20) {}

  // Adds a phase. If it matches a known one of its application, both are merged and the known id remains.
  void add(const KnownPhase &phase);
  core::Status add_definition(std::string_view json);
  // Imports a complete export: {"format":"atalaya-phases","version":1,"phases":[...]}.
  core::Status import(std::string_view json);
  std::string exported() const;

  const std::vector<KnownPhase> &phases() const { return phases_; }
  std::vector<KnownPhase> &phases() { return phases_; }
  const KnownPhase *find(std::string_view application, std::string_view id) const;
  // Returns the id of the phase into which this one was merged; else its own id.
  std::string canonical(const std::string &application, const std::string &id) const;
  Symbols &symbols() { return symbols_; }
  const Symbols &symbols() const { return symbols_; }
  const Likeness &likeness() const { return likeness_; }

 private:
  Likeness likeness_;
  Symbols symbols_;
  std::vector<KnownPhase> phases_;
  // id of the phase into which one was merged, by application and id
  std::map<std::pair<std::string, std::string>, std::string> aliases_;
};

}  // namespace atalaya::phases
