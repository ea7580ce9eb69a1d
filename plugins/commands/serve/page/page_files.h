// SPDX-License-Identifier: Apache-2.0
// The page as the build made it; empty where it did not.
#pragma once

#include <string_view>

namespace atalaya::serve {

extern const std::string_view kPageHtml, kPageScript, kPageSheet;
extern const std::string_view kPageVersion;   // of atalaya
extern const std::string_view kNoPageReason;  // "" if there is a page

}  // namespace atalaya::serve
