// SPDX-License-Identifier: Apache-2.0
// The parameters that the core itself gives to pipelines, sinks and inline functions. Plugins do not see them.
#pragma once

#include "core/plugin/parameters.h"

namespace atalaya::core {

Schema common_sink_params();  // queue, when_full, spread, spool
Schema pipeline_params();     // every
Schema inline_call_params();  // on_error of a.call

}  // namespace atalaya::core
