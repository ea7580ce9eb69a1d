// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/mcp/mcp.h"

#include <doctest/doctest.h>
#include <simdjson.h>

#include <string>

#include "plugins/commands/serve/mcp/mcp_tools.h"

namespace atalaya::serve {
namespace {

struct Asked {
  Request request;
  int count = 0;
  Answer answer = {200, R"({"a":1})"};

  std::string of(std::string_view message) {
    return mcp_answer(message, "7", [this](const Request &one) {
      request = one;
      ++count;
      return answer;
    });
  }
  std::string call(const std::string &tool, const std::string &arguments) {
    return of(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":")" + tool + R"(","arguments":)" + arguments +
              "}}");
  }
};

bool has(const std::string &text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("messages that are no calls have errors or no answer") {
  Asked asked;
  CHECK(has(asked.of("{"), R"("code":-32700)"));
  CHECK(has(asked.of("[]"), R"("id":null,"error":{"code":-32600)"));
  CHECK(has(asked.of(R"({"id":1})"), R"("id":1,"error":{"code":-32600)"));
  CHECK(has(asked.of(R"({"jsonrpc":"2.0","id":[1],"method":"ping"})"), R"("code":-32600)"));
  CHECK(has(asked.of(R"({"jsonrpc":"2.0","id":"x","method":"nothing"})"), R"("id":"x","error":{"code":-32601)"));
  CHECK(has(asked.of(R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"rm"}})"), R"("code":-32602)"));
  CHECK(has(asked.of(R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":5})"), R"("code":-32602)"));
  CHECK(asked.of(R"({"jsonrpc":"2.0","method":"notifications/initialized"})") == "");
  CHECK(asked.of(R"({"jsonrpc":"2.0","id":1,"result":{}})") == "");
  CHECK(asked.of(R"({"jsonrpc":"2.0","id":9007199254740993,"method":"ping"})") ==
        R"({"jsonrpc":"2.0","id":9007199254740993,"result":{}})");
  CHECK(asked.count == 0);
}

TEST_CASE("the version of the protocol is the client's if it is known") {
  Asked asked;
  const auto initialize = [&](const std::string &version) {
    return asked.of(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":")" + version + "\"}}");
  };
  CHECK(has(initialize("2025-03-26"), R"("protocolVersion":"2025-03-26")"));
  CHECK(has(initialize("1999-01-01"), R"("protocolVersion":"2025-06-18")"));
  CHECK(has(initialize("2024-11-05"), R"("serverInfo":{"name":"atalaya","version":"7"})"));
}

TEST_CASE("arguments become parameters of the page, with defaults for a reader who pays for each byte") {
  Asked asked;
  CHECK(asked.call("query", R"({"metric":"proc.cpu.user","group_by":["host","process"],"points":5,"from":"-5m"})") ==
        R"({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"a\":1}"}],"isError":false}})");
  CHECK(asked.request.method == "GET");
  CHECK(asked.request.path == "/api/page/series");
  CHECK(asked.request.texts("group_by") == std::vector<std::string>{"host", "process"});
  CHECK(asked.request.texts("points") == std::vector<std::string>{"5"});
  asked.call("query", R"({"metric":["a","b"]})");
  CHECK(asked.request.text("points") == "60");
  asked.call("top", "{}");
  CHECK(asked.request.text("limit") == "20");
}

TEST_CASE("wrong arguments and failures are answers that a caller can read") {
  Asked asked;
  for (const auto &[tool, arguments, error] :
       {std::tuple{"top", R"({"sotr":"cpu"})", "unknown parameter \\\"sotr\\\" of top; it has sort, "},
        {"top", R"({"limit":"many"})", "limit: not a whole number"},
        {"top", R"({"host":5})", "host: not a text"},
        {"query", R"({"metric":[1]})", "metric: not a list of texts"},
        {"query", "{}", "metric is missing"},
        {"query", "[]", "the arguments are not an object"},
        {"info", R"({"x":1})", "unknown parameter \\\"x\\\" of info; it has none"}}) {
    CAPTURE(error);
    const std::string answer = asked.call(tool, arguments);
    CHECK(has(answer, error));
    CHECK(has(answer, R"("isError":true)"));
  }
  CHECK(asked.count == 0);
  asked.answer = {413, R"({"error":"too much"})"};
  CHECK(has(asked.call("top", "{}"), R"(too much\"}"}],"isError":true)"));
  asked.answer = {200, std::string(70'000, 'x')};
  CHECK(has(asked.call("top", "{}"), "the answer has 70000 bytes, the maximum is 65536"));
}

TEST_CASE("each tool has a schema of its parameters, and changes nothing") {
  simdjson::dom::parser parser;
  simdjson::dom::array tools;
  REQUIRE(parser.parse(mcp_tools_json()).get(tools) == simdjson::SUCCESS);
  size_t count = 0;
  for (const simdjson::dom::element tool : tools) {
    std::string_view name;
    bool reads = false;
    REQUIRE(tool["name"].get(name) == simdjson::SUCCESS);
    CHECK(mcp_tool(name) != nullptr);
    CHECK(tool["annotations"]["readOnlyHint"].get(reads) == simdjson::SUCCESS);
    CHECK(reads);
    CHECK(tool["inputSchema"]["properties"].is_object());
    ++count;
  }
  CHECK(count == 13);
}

}  // namespace
}  // namespace atalaya::serve
