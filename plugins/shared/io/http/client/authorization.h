// SPDX-License-Identifier: Apache-2.0
// Client credentials and the verification of servers.
#pragma once

#include <Poco/Net/Context.h>

#include <string>

namespace atalaya::http_client {

// Paths of PEM files. An empty `ca` means the certificate authorities of the system.
struct TlsFiles {
  std::string ca, certificate, key;
};
// Throws Failure (bad_config).
Poco::Net::Context::Ptr tls_context(const TlsFiles &files);

// The value of the header Authorization (Basic, RFC 7617) for `user:password`.
std::string basic_authorization(const std::string &credentials);

}  // namespace atalaya::http_client
