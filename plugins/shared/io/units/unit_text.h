// SPDX-License-Identifier: Apache-2.0
// Units of UCUM (ucum.org) as metrics declare them.
#pragma once

#include <string>
#include <string_view>

namespace atalaya::io {

// The unit as users read it: "MiB/s" for "MiBy/s", "B" for "By", "°C" for "Cel", "µs" for "us", "core" for "{core}", "" for "1".
std::string shown_unit(std::string_view unit);
// The unit of a change per second: "By" becomes "By/s", "1" becomes "/s". "" (unknown) remains "".
std::string per_second(std::string_view unit);
// The unit of an amount at this unit per second: "MiBy/s" becomes "MiBy", "/s" becomes "1"; "" if it is not per second.
std::string without_per_second(std::string_view unit);

}  // namespace atalaya::io
