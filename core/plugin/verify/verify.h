// SPDX-License-Identifier: Apache-2.0
// The lifecycle kit: sequences of calls that every component must support. `atalaya plugins --verify FILE` and the tests run it.
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

// The result of one step for one component.
struct Finding {
  std::string component;  // source "proc"
  std::string step;       // "stop without start"
  std::string problem;    // "" = passed
  std::string remark;     // why the step cannot run on this host; else ""
};

// "ok       source "proc": stop without start", or "FAILED   ...: why".
std::string line_of(const Finding &finding);

// The steps, in their order.
inline constexpr std::array<std::string_view, 6> kVerifySteps = {
    "describe", "create and destroy", "stop without start", "start and stop twice", "full cycle", "failing start"};

// Runs all steps for all components in this process. Creates files only in a temporary folder. The timeout of a push source's run
// is
// 10 s.
std::vector<Finding> verify_plugin(const std::shared_ptr<const Plugin> &plugin);

// Runs each step in a separate process, so that a crash or a hang becomes the finding of its step. Each process calls `open` to
// open the plugin. `report` receives each finding immediately; the first one is that of `open`.
using OpenPlugin = std::function<Result<std::shared_ptr<const Plugin>>()>;
void verify_in_processes(const OpenPlugin &open, const std::vector<ComponentName> &components, std::chrono::milliseconds timeout,
                         const std::function<void(const Finding &)> &report);

// Runs one step for one component. Returns nothing if the step does not apply to it.
std::optional<Finding> verify_step(const Registry::Component &component, std::string_view step);
// Whether the finding is a failure that makes the remaining steps useless.
bool is_final(const Finding &finding);

// Errors in a component's description: empty summaries, unknown types, defaults that violate its own schema.
std::vector<std::string> description_problems(const atalaya_component &component);

// Parameters with which a component can be created: the required ones, with `all` also the optional ones. Files and folders are
// inside `folder`.
Value sample_parameters(const atalaya_component &component, const std::string &folder, bool all);

}  // namespace atalaya::core
