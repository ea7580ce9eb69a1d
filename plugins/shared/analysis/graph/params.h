// SPDX-License-Identifier: Apache-2.0
// The parameter that all commands on flows have.
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
// Reads the translations that the parameter names. Throws Failure.
Translations read_translations(Host host);
// Reads the translation table of this host; empty if it is not readable.
Translations own_translations();

// Parses a share such as "10%" or "0.1". Throws query::Wrong.
double share_of(std::string_view where, std::string_view text);

}  // namespace atalaya::graph
