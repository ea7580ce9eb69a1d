// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/phases/database.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <utility>

#include "core/base/text/json_writer.h"

namespace atalaya::phases {
namespace {

// The short name of a function: "Cart.add" for "void org.shop.Cart.add(int)_[j]".
std::string short_name(std::string_view text) {
  if (text.size() > 2 && text.front() == '[' && text.back() == ']') return std::string(text.substr(1, text.size() - 2));
  if (const size_t leaf = text.rfind(';'); leaf != std::string_view::npos) text.remove_prefix(leaf + 1);
  if (text.size() > 4 && text.substr(text.size() - 4, 2) == "_[") text.remove_suffix(4);
  if (const size_t arguments = text.find('('); arguments != std::string_view::npos && arguments > 0)
    text = text.substr(0, arguments);
  if (const size_t result = text.rfind(' '); result != std::string_view::npos) text.remove_prefix(result + 1);
  size_t begin = text.rfind('.');
  if (begin != std::string_view::npos && begin > 0) begin = text.rfind('.', begin - 1);
  if (begin != std::string_view::npos && begin + 1 < text.size()) text.remove_prefix(begin + 1);
  std::string name;
  for (const char c : text.substr(0, 60))
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("._$:<>~-").find(c) != std::string_view::npos
                ? c
                : '_';
  return name.empty() ? "phase" : name;
}

bool is_special(const std::string &text) {
  return text.size() > 2 && text.front() == '[' && text.back() == ']' && text != "[other]";
}

uint32_t hash_of(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  uint32_t hash = 2166136261u;  // FNV-1a
  for (const std::string &text : texts)
    for (const char c : text + '\n') hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

}  // namespace

std::string_view text_of(Key key) {
  return key == Key::function ? "function" : "stack";
}

// The function for the name of a phase: most of its threads are in it, and few threads of other phases. Among functions with
// similar scores, the one with the smallest share.
std::string id_of(const Profile &profile, const std::vector<const Profile *> &others, const Symbols &symbols) {
  constexpr double kInSet = 0.1, kMaximum = 0.5, kNearly = 0.7;
  struct Candidate {
    uint32_t symbol;
    double share, score;
  };
  std::vector<Candidate> candidates;
  std::vector<std::string> set;
  double highest = 0, best = -1;
  for (const Part &part : profile.parts()) highest = std::max(highest, part.threads / profile.total());
  for (const Part &part : profile.parts()) {
    const double share = part.threads / profile.total();
    const std::string &text = symbols.text(part.symbol);
    if (share > kMaximum && is_special(text)) return short_name(text);
    if (share >= kInSet * highest) set.push_back(text);
    double elsewhere = 0;
    for (const Profile *other : others) elsewhere = std::max(elsewhere, other->share(part.symbol));
    candidates.push_back({part.symbol, share, share - elsewhere});
    best = std::max(best, share - elsewhere);
  }
  const Candidate *chosen = nullptr;
  for (const Candidate &one : candidates) {
    if (one.score < best - (1 - kNearly) * std::abs(best)) continue;
    // Callees have higher symbol numbers than their callers.
    if (chosen == nullptr || std::pair(one.share, ~one.symbol) < std::pair(chosen->share, ~chosen->symbol)) chosen = &one;
  }
  char hash[16];
  std::snprintf(hash, sizeof hash, "-%04x", hash_of(std::move(set)) & 0xffffu);
  return short_name(chosen == nullptr ? "phase" : symbols.text(chosen->symbol)) + hash;
}

void PhaseDatabase::add(const KnownPhase &phase) {
  for (KnownPhase &known : phases_) {
    if (known.application != phase.application || known.key != phase.key) continue;
    if (known.id != phase.id && !match(known.phase.profile, phase.phase.profile, likeness_)) continue;
    if (known.id == phase.id && !nearly_match(known.phase.profile, phase.phase.profile, likeness_) &&
        known.learned_ns <= phase.learned_ns) {
      known.phase = phase.phase;  // replaces an earlier version of the phase
    } else {
      known.phase.profile.add(phase.phase.profile);
      known.phase.epoch = std::max(known.phase.epoch, phase.phase.epoch);
    }
    known.seconds.add(phase.seconds);
    known.usage.add(phase.usage);
    for (const auto &[ids, count] : phase.before) known.before[ids] += count;
    if (known.id != phase.id) aliases_[{phase.application, phase.id}] = known.id;
    return;
  }
  phases_.push_back(phase);
}

core::Status PhaseDatabase::add_definition(std::string_view json) {
  auto phase = read_definition(json, symbols_);
  if (!phase) return core::Error{phase.error()};
  add(*phase);
  return core::Done{};
}

core::Status PhaseDatabase::import(std::string_view json) {
  auto phases = read_export(json, symbols_);
  if (!phases) return core::Error{phases.error()};
  for (const KnownPhase &phase : *phases) add(phase);
  return core::Done{};
}

std::string PhaseDatabase::exported() const {
  core::JsonWriter json;
  json.object().key("format").text("atalaya-phases").key("version").integer(kDefinitionVersion).key("phases").list();
  // Each phase is on a line of its own, also the first one.
  for (const KnownPhase &phase : phases_) json.raw("\n").raw(definition_json(phase, symbols_));
  return json.take() + "\n]}\n";
}

const KnownPhase *PhaseDatabase::find(std::string_view application, std::string_view id) const {
  for (const KnownPhase &known : phases_)
    if (known.application == application && known.id == id) return &known;
  return nullptr;
}

std::string PhaseDatabase::canonical(const std::string &application, const std::string &id) const {
  const auto alias = aliases_.find({application, id});
  return alias == aliases_.end() ? id : alias->second;
}

}  // namespace atalaya::phases
