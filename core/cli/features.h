// SPDX-License-Identifier: Apache-2.0
// The features of the installed components and their needs, for `atalaya doctor` and the drop-ins of the systemd unit.
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
  std::string name, lost;  // lost: the effect if the need is missing
  Met met = Met::unknown;
  std::string remedy;        // "" for a met need
  std::string short_remedy;  // remedy without the commands of drop_in_help; may be empty
};

// A component, or a part of a component that has separate needs: "proc", "proc-bpf".
struct Feature {
  std::string name, kind, component;
  std::vector<FeatureNeed> needs;
  std::string broken;  // why the plugin cannot be opened, and the remedy; "" if it can

  bool needs_capability() const;
  // `unknown` if no need is known to be missing and at least one cannot be examined.
  Met state() const;
  // Whether the component does not work.
  bool failed() const;
};

std::vector<Feature> features_of(Registry &registry);

// The process for which needs are examined: this process or the running agent.
struct Subject {
  uint64_t capabilities = 0;
  std::string root;  // prefix of absolute paths: "", "/proc/PID/root"
  bool service = false;
};
Result<Subject> subject_of_process(int pid);  // 0 = this one
Result<uint64_t> capabilities_of(int pid);    // its effective capabilities
void examine(std::vector<Feature> &features, const Subject &subject);

// The unit's drop-in that grants a feature its capabilities, each line with its reason; "" if it needs none.
std::string drop_in_text(const Feature &feature);
// The commands that link a drop-in.
std::string drop_in_help();
// Path of the drop-in in the package.
std::string drop_in_path(const Feature &feature);

}  // namespace atalaya::core::cli
