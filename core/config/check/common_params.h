// SPDX-License-Identifier: Apache-2.0
// The parameters of pipelines, sinks and inline functions that the engine defines. Plugins do not receive them.
#pragma once

#include <vector>

#include "core/isolation/isolation.h"
#include "core/plugin/describe/parameters.h"

namespace atalaya::core {

Schema common_sink_params();  // queue, when_full, spread, spool
// The engine's parameters for a component in a pipeline: isolate, isolation, and those of a sink.
std::vector<atalaya_param> common_params(const atalaya_component &component);
Parameters isolation_defaults(const atalaya_component &component);  // defaults of the members of `isolation`
// Whether and how the component is isolated. The default for a plugin that is not part of Atalaya is isolation.
Isolation isolation_of(const Parameters &parameters, const Registry::Component &component);
Schema pipeline_params();     // every
Schema inline_call_params();  // on_error of a.call

}  // namespace atalaya::core
