// SPDX-License-Identifier: Apache-2.0
// Clients of a running agent's status socket, and the socket helpers that they share with its server.
#pragma once

#include <sys/un.h>

#include <string>
#include <string_view>

#include "core/base/files.h"
#include "core/base/result.h"

namespace atalaya::core {

// <runtime folder>/status.sock
std::string default_status_socket();
// Reads the ledger of the running agent with the socket `path`, as JSON or as a table.
Result<std::string> ask_status(const std::string &path, bool json);
// Reads the features of the running agent: the JSON list of `atalaya doctor`, or an object with the member "error".
Result<std::string> ask_doctor(const std::string &path);

// Timeout of one read or write.
constexpr int kStatusTimeoutMs = 2000;
// Timeout of the agent's examination of the features.
constexpr int kDoctorTimeoutMs = 10'000;
Result<sockaddr_un> unix_address(const std::string &path);
Result<Descriptor> connect_unix(const std::string &path);
bool ready(int fd, short events, int timeout_ms);
bool send_all(int fd, std::string_view text);

}  // namespace atalaya::core
