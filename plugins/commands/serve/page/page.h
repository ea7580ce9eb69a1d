// SPDX-License-Identifier: Apache-2.0
// The page and its assets: the same for everyone, without data of the store.
#pragma once

#include <optional>

#include "plugins/commands/serve/http/request.h"

namespace atalaya::serve {

// The answer to GET and HEAD of "/" and "/assets/..."; nothing for other requests.
std::optional<Answer> page_answer(const Request &request);

// Whether this build has a page.
bool has_page();

}  // namespace atalaya::serve
