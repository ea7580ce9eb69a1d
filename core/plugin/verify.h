// SPDX-License-Identifier: Apache-2.0
// The lifecycle kit: calls that every component must survive, whoever wrote it. `atalaya plugins --verify FILE` and the tests run
// it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/plugin/registry.h"
#include "core/plugin/value.h"

namespace atalaya::core {

// One thing that was tried.
struct Finding {
  std::string component;  // source "proc"
  std::string step;       // "stop without start"
  std::string problem;    // "" = passed
  std::string remark;     // why a step could not be tried here; "" otherwise
};

// "ok       source "proc": stop without start", or "FAILED   ...: why".
std::string line_of(const Finding &finding);

// Runs every step on every component. Files are made in a temporary folder only. A step that hangs is given up after 10 s.
std::vector<Finding> verify_plugin(const std::shared_ptr<const Plugin> &plugin);

// Errors in a component's description: empty sentences, unknown types, defaults that its own schema refuses.
std::vector<std::string> description_problems(const atalaya_component &component);

// Parameters that a component can be created with: required ones (or all), files and folders inside `folder`.
Value sample_parameters(const atalaya_component &component, const std::string &folder, bool everything);

}  // namespace atalaya::core
