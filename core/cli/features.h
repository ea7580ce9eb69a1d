// SPDX-License-Identifier: Apache-2.0
// The features that installed components declare, and their needs: for `atalaya doctor` and the unit's drop-ins.
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
  std::string name, lost;  // lost: the effect if it is missing
  Met met = Met::unknown;
  std::string remedy;        // "" when met
  std::string short_remedy;  // without the commands of drop_in_help; may be empty
};

// A component, or a part of it with needs of its own: "proc", "proc-bpf".
struct Feature {
  std::string name, kind, component;
  std::vector<FeatureNeed> needs;
  std::string broken;  // the plugin cannot be opened: reason and remedy

  bool needs_capability() const;
  // Unknown when no need is known to be missing, and at least one cannot be examined.
  Met state() const;
  // The component itself does not work.
  bool failed() const;
};

std::vector<Feature> features_of(Registry &registry);

// The process whose needs are examined: this one, or the running agent.
struct Subject {
  uint64_t capabilities = 0;
  std::string root;  // in front of absolute paths: "", "/proc/PID/root"
  bool service = false;
};
Result<Subject> subject_of_process(int pid);  // 0 = this one
Result<uint64_t> capabilities_of(int pid);    // the effective ones
void examine(std::vector<Feature> &features, const Subject &subject);

// The unit's drop-in that grants a feature its capabilities, each line with its reason; "" if it needs none.
std::string drop_in_text(const Feature &feature);
// The commands that link a drop-in.
std::string drop_in_help();
// Path of the drop-in in the package.
std::string drop_in_path(const Feature &feature);

}  // namespace atalaya::core::cli
