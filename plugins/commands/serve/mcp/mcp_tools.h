// SPDX-License-Identifier: Apache-2.0
// The tools of the Model Context Protocol and their parameters. Pure functions.
#pragma once

#include <simdjson.h>

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "plugins/commands/serve/http/request.h"

namespace atalaya::serve {

struct McpParam {
  enum class Type { text, texts, integer };  // texts: a text or a list of texts; whole: an integer
  std::string_view name;
  Type type;
  std::string_view summary;
  bool required = false;
};
struct McpTool {
  std::string_view name, summary, path;  // path: below /api/page
  std::span<const McpParam> params;
};

// The tool with this name; null if it does not exist.
const McpTool *mcp_tool(std::string_view name);
// The result of the method tools/list.
std::string mcp_tools_json();

struct McpRequest {
  Request request;
  std::string error;  // error message about the arguments; "": they are valid
};
// Converts the arguments of a tool call to a request. `arguments` null: the call has none.
McpRequest mcp_request(const McpTool &tool, const simdjson::dom::element *arguments);

}  // namespace atalaya::serve
