// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugins/shared/analysis/query/json_writer.h"

namespace atalaya::serve {

using query::JsonWriter;

}  // namespace atalaya::serve
