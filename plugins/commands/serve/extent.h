// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "plugins/shared/store/store.h"

namespace atalaya::serve {

// Range from about the first sample to about the last one, longer by less than a window and a minute; found by tests whether a
// range has some, without reading them all. Nothing if the store has none up to this time.
std::optional<store::Range> extent_of(store::Store &store, int64_t until_ns);

}  // namespace atalaya::serve
