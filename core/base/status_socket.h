// SPDX-License-Identifier: Apache-2.0
// The socket of a running agent, for those who read its status, and the pieces that its server shares with them.
#pragma once

#include <sys/un.h>

#include <string>
#include <string_view>

#include "core/base/files.h"
#include "core/base/result.h"

namespace atalaya::core {

// <runtime folder>/status.sock
std::string default_status_socket();
// Queries a running agent: its ledger as JSON, or as a table.
Result<std::string> ask_status(const std::string &path, bool json);
// Its features: the JSON list of `atalaya doctor`, or an object with the member "error".
Result<std::string> ask_doctor(const std::string &path);

// The longest wait for a step of the other side.
constexpr int kStatusPatienceMs = 2000;
// The longest time that the agent takes to examine the features.
constexpr int kDoctorPatienceMs = 10'000;
Result<sockaddr_un> unix_address(const std::string &path);
Result<Descriptor> connect_unix(const std::string &path);
std::string folder_of(const std::string &path);
bool ready(int fd, short events, int timeout_ms);
bool send_all(int fd, std::string_view text);

}  // namespace atalaya::core
