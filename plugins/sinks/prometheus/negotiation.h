// SPDX-License-Identifier: Apache-2.0
// The wishes of a scraper in its headers. Untrusted input.
#pragma once

#include <string_view>

#include "plugins/sinks/prometheus/exposition.h"

namespace atalaya::prometheus {

// OpenMetrics 1.0.0 when the header Accept names it and likes nothing of ours better; else the text format.
Form negotiate_form(std::string_view accept);
bool takes_gzip(std::string_view accept_encoding);

}  // namespace atalaya::prometheus
