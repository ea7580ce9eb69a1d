// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <memory>
#include <string>

#include "core/isolation/launcher/launcher.h"
#include "core/plugin/instance.h"

namespace atalaya::core {

// Whether a component runs in a separate process, and the limits of that process: the parameters `isolate` and `isolation`, which
// every component of a pipeline has.
struct Isolation {
  bool on = false;
  int64_t memory_bytes = 0;
  int64_t time_ns = 0;      // maximum time of one call
  int64_t cpu_percent = 0;  // maximum per cent of a core; 0: no limit
  bool operator==(const Isolation &) const = default;
};

// Creates the component, in this process or isolated. `launcher` may be null if it is not isolated.
Result<std::unique_ptr<Instance>> make_instance(const Isolation &isolation, Registry::Component component, Parameters parameters,
                                                std::string label, Symbols &symbols, Surroundings &surroundings,
                                                Launcher *launcher);

}  // namespace atalaya::core
