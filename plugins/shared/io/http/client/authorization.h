// SPDX-License-Identifier: Apache-2.0
// Client credentials and the verification of servers.
#pragma once

#include <Poco/Net/Context.h>

#include <string>

namespace atalaya::http_client {

// PEM files; an empty `ca`: the system's authorities.
struct TlsFiles {
  std::string ca, certificate, key;
};
// Throws Failure (bad_config).
Poco::Net::Context::Ptr tls_context(const TlsFiles &files);

// The value of the header for user:password.
std::string basic_authorization(const std::string &credentials);

}  // namespace atalaya::http_client
