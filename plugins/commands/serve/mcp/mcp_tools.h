// SPDX-License-Identifier: Apache-2.0
// The tools of the Model Context Protocol, and their parameters. Pure.
#pragma once

#include <simdjson.h>

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "plugins/commands/serve/http/request.h"

namespace atalaya::serve {

struct McpParam {
  enum class Type { text, texts, whole };  // texts: a list, or one of them
  std::string_view name;
  Type type;
  std::string_view summary;
  bool required = false;
};
struct McpTool {
  std::string_view name, summary, path;  // of the page
  std::span<const McpParam> params;
};

// Null: unknown.
const McpTool *mcp_tool(std::string_view name);
// The list of tools/list.
std::string mcp_tools_json();

struct McpRequest {
  Request request;
  std::string wrong;  // the error in the arguments; "": none
};
// Null: no arguments.
McpRequest mcp_request(const McpTool &tool, const simdjson::dom::element *arguments);

}  // namespace atalaya::serve
