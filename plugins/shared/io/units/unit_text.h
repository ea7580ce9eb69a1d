// SPDX-License-Identifier: Apache-2.0
// Units of UCUM (ucum.org) as metrics declare them.
#pragma once

#include <string>
#include <string_view>

namespace atalaya::io {

// For people: "MiBy/s" is "MiB/s", "By" is "B", "Cel" is "°C", "us" is "µs", "{core}" is "core", "1" is "".
std::string shown_unit(std::string_view unit);
// The unit of a change per second: "By" becomes "By/s", "1" becomes "/s". "" stays unknown.
std::string per_second(std::string_view unit);
// The unit of an amount at this unit per second: "MiBy/s" becomes "MiBy", "/s" becomes "1"; "" if it is not per second.
std::string without_per_second(std::string_view unit);

}  // namespace atalaya::io
