// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace atalaya::http_server {

// The IP address of the client of a connected socket, without its port; "" if unknown.
std::string address_of_peer(int socket);

// The user of the process at the other end of a connected TCP socket. Known only for a process in the same network namespace; the
// source is /proc/net/tcp and tcp6 (Documentation/networking/proc_net_tcp.rst of the kernel). A user that is not mapped in this
// user namespace is the overflow user (65534).
std::optional<uid_t> user_of_peer(int socket);

}  // namespace atalaya::http_server
