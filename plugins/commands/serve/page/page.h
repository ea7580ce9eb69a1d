// SPDX-License-Identifier: Apache-2.0
// Serves the web page and its assets, which contain no data of the store.
#pragma once

#include <optional>

#include "plugins/commands/serve/http/request.h"

namespace atalaya::serve {

// Answers GET and HEAD of "/" and "/assets/..."; returns nothing for other requests.
std::optional<Answer> page_answer(const Request &request);

// Whether this build contains the page.
bool has_page();

}  // namespace atalaya::serve
