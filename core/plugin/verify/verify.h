// SPDX-License-Identifier: Apache-2.0
// The lifecycle kit: calls that every component must survive, whoever wrote it. `atalaya plugins --verify FILE` and the tests run
// it.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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

// The steps of a component, in order.
inline constexpr std::array<std::string_view, 6> kVerifySteps = {
    "describe", "create and destroy", "stop without start", "start and stop twice", "full cycle", "failing start"};

// Runs every step on every component, in this process. Files are made in a temporary folder only. A run that does not end is given
// up after 10 s.
std::vector<Finding> verify_plugin(const std::shared_ptr<const Plugin> &plugin);

// The same with a process for each step, so that a crash or a hang is the finding of its step. `open` opens the plugin, in each of
// these processes; `report` gets each finding at once. The first finding is that of opening it.
using OpenPlugin = std::function<Result<std::shared_ptr<const Plugin>>()>;
void verify_in_processes(const OpenPlugin &open, const std::vector<ComponentName> &components, std::chrono::milliseconds patience,
                         const std::function<void(const Finding &)> &report);

// One step of one component; nothing if it has no such step.
std::optional<Finding> verify_step(const Registry::Component &component, std::string_view step);
// After this step has failed, the others say nothing new.
bool ends_kit(const Finding &finding);

// Errors in a component's description: empty sentences, unknown types, defaults that its own schema refuses.
std::vector<std::string> description_problems(const atalaya_component &component);

// Parameters that a component can be created with: required ones (or all), files and folders inside `folder`.
Value sample_parameters(const atalaya_component &component, const std::string &folder, bool everything);

}  // namespace atalaya::core
