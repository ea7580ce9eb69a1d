// SPDX-License-Identifier: Apache-2.0
// The parameter that commands over flows have in common, and what it means.
#pragma once

#include <atalaya/plugin.hpp>

#include "plugins/shared/analysis/graph/conntrack.h"
#include "plugins/shared/analysis/query/params.h"

namespace atalaya::graph {

using namespace atalaya::literals;

inline constexpr Param kConntrack = {
    .name = "conntrack"_str,
    .type = ATALAYA_LIST,
    .unit = "FILE"_str,
    .summary =
        "What conntrack -L wrote on a host that translates addresses; without it this host's own table, where it may be read."_str,
    .items = query::kText,
    .item_count = 1,
    .item_size = sizeof(Param)};
// Throws Failure.
Translations read_translations(Host host);

}  // namespace atalaya::graph
