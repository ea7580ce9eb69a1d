// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace atalaya::core {

// Whether the text is a unit of UCUM (https://ucum.org, case sensitive): "1", "%", "By", "MiBy/s", "Cel", "{sample}/s". The common
// units of the standard are known, with their prefixes; binary prefixes are allowed for By and bit.
bool is_ucum(std::string_view unit);

}  // namespace atalaya::core
