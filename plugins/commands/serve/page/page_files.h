// SPDX-License-Identifier: Apache-2.0
// The files of the web page, embedded by the build; empty if this build has no page.
#pragma once

#include <string_view>

namespace atalaya::serve {

extern const std::string_view kPageHtml, kPageScript, kPageSheet;
extern const std::string_view kPageVersion;   // version of atalaya
extern const std::string_view kNoPageReason;  // reason for a missing page; "" if there is a page

}  // namespace atalaya::serve
