// SPDX-License-Identifier: Apache-2.0
// Parses the request headers of a scraper. Untrusted input.
#pragma once

#include <string_view>

#include "plugins/shared/protocols/prometheus/exposition.h"

namespace atalaya::prometheus {

// OpenMetrics 1.0.0 if the header Accept contains it with at least the quality (q=) of the text format; else the text format.
Form negotiate_form(std::string_view accept);
bool takes_gzip(std::string_view accept_encoding);

}  // namespace atalaya::prometheus
