// SPDX-License-Identifier: Apache-2.0
// The parameter that commands on flows share.
#pragma once

#include <atalaya/plugin.hpp>

#include <string_view>

#include "plugins/shared/analysis/command_line/params.h"
#include "plugins/shared/analysis/graph/conntrack.h"

namespace atalaya::graph {

using namespace atalaya::literals;

inline constexpr Param kConntrack =
    param::list("conntrack", command_line::kText,
                "Output of conntrack -L of a host that translates addresses (default: the table of this host, if readable)")
        .unit("FILE");
// Throws Failure.
Translations read_translations(Host host);
// The table of this host, if it is readable.
Translations own_translations();

// "10%" or "0.1". Throws query::Wrong.
double share_of(std::string_view where, std::string_view text);

}  // namespace atalaya::graph
