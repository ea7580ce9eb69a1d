// SPDX-License-Identifier: Apache-2.0
// Messages of the Model Context Protocol. Each answer is JSON, and each request that a message makes is one of the page.
#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "plugins/commands/serve/mcp/mcp.h"

using namespace atalaya;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string answer =
      serve::mcp_answer({reinterpret_cast<const char *>(data), size}, "1", [](const serve::Request &request) -> serve::Answer {
        if (request.method != "GET" || !request.path.starts_with("/api/page/")) std::abort();
        std::string body;
        for (const auto &[name, value] : request.arguments) body += name + value;
        return {body.size() % 3 == 0 ? 400U : 200U, body};
      });
  simdjson::dom::parser parser;
  if (!answer.empty() && parser.parse(answer).error() != simdjson::SUCCESS) std::abort();
  return 0;
}
