// SPDX-License-Identifier: Apache-2.0
// The Model Context Protocol for programs that ask in words: JSON-RPC 2.0, read only. A tool is a path of the page with named and
// typed parameters. https://modelcontextprotocol.io/specification/2025-06-18. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "plugins/commands/serve/http/request.h"

namespace atalaya::serve {

// The answer to a message; "" to a notification, which has none. `version` is that of the server; `ask` answers requests for
// /api/page/...
std::string mcp_answer(std::string_view message, std::string_view version, const std::function<Answer(const Request &)> &ask);

// The answer to a message that cannot be read.
std::string mcp_refusal(std::string_view why);

}  // namespace atalaya::serve
