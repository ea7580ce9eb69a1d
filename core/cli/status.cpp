// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "core/base/status_socket.h"
#include "core/cli/cli.h"

namespace atalaya::core::cli {
namespace {

constexpr OptionSpec kStatusOptions[] = {
    {"--format", "table|json", "Output format (default: table)"},
    {"--socket", "PATH", "Socket of the agent (default: status.sock in the runtime folder)"},
};

int status(const Arguments &arguments) {
  const std::string format = arguments.get("--format").value_or("table");
  if (format != "table" && format != "json") {
    std::fprintf(stderr, "atalaya status: --format: \"%s\" is not one of table, json\n", format.c_str());
    return kWrongUse;
  }
  const auto text = ask_status(arguments.get("--socket").value_or(default_status_socket()), format == "json");
  if (!text) {
    std::fprintf(stderr, "atalaya status: %s\n", text.error().c_str());
    return kFailed;
  }
  std::fputs(text.value().c_str(), stdout);
  return kDone;
}

}  // namespace

const Command status_command = {
    .name = "status",
    .operands = "",
    .summary = "Show the running agent's ledger, queues and health",
    .example =
        "atalaya status\n"
        "atalaya status --format json\n"
        "atalaya status --socket /run/atalaya/status.sock",
    .min_operands = 0,
    .max_operands = 0,
    .options = kStatusOptions,
    .run = status,
};

}  // namespace atalaya::core::cli
