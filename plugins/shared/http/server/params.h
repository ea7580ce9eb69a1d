// SPDX-License-Identifier: Apache-2.0
// Parameters that every component with a Daemon has, word for word.
#pragma once

#include <atalaya/plugin.hpp>

namespace atalaya::http_server {

using namespace atalaya::literals;

inline constexpr Param kCertificate = {
    .name = "certificate"_str,
    .type = ATALAYA_STRING,
    .summary = "PEM file with the certificate and its chain; with it the server speaks TLS 1.2 and 1.3 only."_str};
inline constexpr Param kKey = {
    .name = "key"_str, .type = ATALAYA_STRING, .summary = "PEM file with the certificate's private key."_str};
inline constexpr Param kOpen = {
    .name = "open"_str,
    .type = ATALAYA_BOOL,
    .default_text = "false"_str,
    .summary = "Whoever reaches the address is answered, without a token; else only this host may."_str};
inline constexpr Param kMaxHeader = {
    .name = "max_header"_str,
    .type = ATALAYA_SIZE,
    .flags = ATALAYA_BOUNDED,
    .default_text = "16 KiB"_str,
    .summary = "Memory of a connection for its request line and header; larger ones are refused with 431."_str,
    .min = 4096,
    .max = 1048576};
inline constexpr Param kRequestTimeout = {
    .name = "request_timeout"_str,
    .type = ATALAYA_DURATION,
    .flags = ATALAYA_BOUNDED,
    .default_text = "30s"_str,
    .summary =
        "A request that is not complete by then is cut off, however its bytes trickle; so is an answer that nobody takes."_str,
    .min = 1e8,
    .max = 3.6e12};
inline constexpr Param kIdleTimeout = {.name = "idle_timeout"_str,
                                       .type = ATALAYA_DURATION,
                                       .flags = ATALAYA_BOUNDED,
                                       .default_text = "5m"_str,
                                       .summary = "A connection without a request is closed after it."_str,
                                       .min = 1e9,
                                       .max = 8.64e13};

}  // namespace atalaya::http_server
