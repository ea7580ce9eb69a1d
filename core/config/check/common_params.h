// SPDX-License-Identifier: Apache-2.0
// The parameters that the core itself gives to pipelines, sinks and inline functions. Plugins do not see them.
#pragma once

#include <vector>

#include "core/isolation/isolation.h"
#include "core/plugin/describe/parameters.h"

namespace atalaya::core {

Schema common_sink_params();  // queue, when_full, spread, spool
// Those of every component of its kind in a pipeline: isolate, isolation, and a sink's.
std::vector<atalaya_param> common_params(const atalaya_component &component);
Parameters isolation_defaults(const atalaya_component &component);  // of the members of `isolation`
// The process of the component: a plugin not installed with atalaya is isolated unless the operator says otherwise.
Isolation isolation_of(const Parameters &parameters, const Registry::Component &component);
Schema pipeline_params();     // every
Schema inline_call_params();  // on_error of a.call

}  // namespace atalaya::core
