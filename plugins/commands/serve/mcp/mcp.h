// SPDX-License-Identifier: Apache-2.0
// The Model Context Protocol for language models: JSON-RPC 2.0, read only. A tool is a path of the page with typed parameters.
// Source: https://modelcontextprotocol.io/specification/2025-06-18. Pure functions.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "plugins/commands/serve/http/request.h"

namespace atalaya::serve {

// Returns the answer to a message; "" for a notification. `version`: version of the server; `ask`: answers requests for
// /api/page/...
std::string mcp_answer(std::string_view message, std::string_view version, const std::function<Answer(const Request &)> &ask);

// The answer to a malformed message.
std::string mcp_refusal(std::string_view why);

}  // namespace atalaya::serve
