// SPDX-License-Identifier: Apache-2.0
// Parameters of every component with a Daemon.
#pragma once

#include <atalaya/plugin.hpp>

namespace atalaya::http_server {

inline constexpr Param kCertificate =
    param::string("certificate", "PEM file with the certificate and its chain; the server then accepts TLS 1.2 and 1.3 only")
        .unit("input file");
inline constexpr Param kKey = param::string("key", "PEM file with the private key of the certificate").unit("secret file");
inline constexpr Param kOpen =
    param::boolean("open", "Accept requests of other hosts without a token; otherwise only this host needs none").defaults("false");
inline constexpr Param kMaxHeader =
    param::size("max_header", "Maximum size of request line and header; larger ones are refused with 431")
        .defaults("16 KiB")
        .range(4096, 1048576);
inline constexpr Param kRequestTimeout =
    param::duration("request_timeout", "Time limit for receiving a request, and for sending an answer")
        .defaults("30s")
        .range(1e8, 3.6e12);
inline constexpr Param kIdleTimeout =
    param::duration("idle_timeout", "Time after which an idle connection is closed").defaults("5m").range(1e9, 8.64e13);

}  // namespace atalaya::http_server
