// SPDX-License-Identifier: Apache-2.0
// What the installed components can do, as they declare it, and what each part needs: for `atalaya doctor` and the unit's drop-ins.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/plugin/registry.h"

namespace atalaya::core::cli {

enum class Met { yes, no, unknown };

struct FeatureNeed {
  uint32_t type = 0;  // ATALAYA_NEED_*
  bool optional = false;
  std::string name, lost;  // lost: without it
  Met met = Met::unknown;
  std::string remedy;  // "" when met
};

// A component, or the part of it that some needs make possible: "proc", "proc-bpf".
struct Feature {
  std::string name, kind, component;
  std::vector<FeatureNeed> needs;
  std::string broken;  // the plugin does not open: why, and what to do

  bool needs_capability() const;
  // Unknown when no need is known to lack, and one cannot be looked at.
  Met state() const;
  // The component itself does not work.
  bool failed() const;
};

std::vector<Feature> features_of(Registry &registry);

// Whose needs are looked at: this process, or the agent that runs, seen from outside.
struct Subject {
  uint64_t capabilities = 0;
  std::string root;  // in front of absolute paths: "", "/proc/PID/root"
  bool service = false;
};
Result<Subject> subject_of_process(int pid);  // 0 = this one
void examine(std::vector<Feature> &features, const Subject &subject);

// The unit's drop-in that gives a feature its capabilities, each line with its reason; "" if it needs none.
std::string drop_in_text(const Feature &feature);
// Where the package has it.
std::string drop_in_path(const Feature &feature);

}  // namespace atalaya::core::cli
