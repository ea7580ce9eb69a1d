// SPDX-License-Identifier: Apache-2.0
// Parameters that several sinks share, with equal names, types and limits. Texts that depend on the sink are arguments.
#pragma once

#include <atalaya/plugin.hpp>

namespace atalaya::io {

using namespace atalaya::literals;

inline constexpr Param kTag[] = {param::string("tag", "A tag")};
inline constexpr Param kMaxTags =
    param::integer("max_tags", "opentsdb: maximum tags of a point (tsd.storage.max_tags)").defaults("8").range(1, 256).unit("tags");
inline constexpr Param kDropTags =
    param::list("drop_tags", kTag, "opentsdb: tags that are removed, in this order, from points with more than max_tags")
        .defaults("command,user,cgroup,parent,unit,container");

// The members of `tls`.
inline constexpr Param kTls[] = {
    param::string("ca", "PEM file of the trusted authorities (default: those of the system)").unit("input file"),
    param::string("certificate", "PEM file of the client certificate and its chain").unit("input file"),
    param::string("key", "PEM file of the private key").unit("input file"),
};
constexpr Param tls(atalaya_str summary) {
  return param::record("tls", kTls, view(summary));
}
inline constexpr Param kHttpTls = tls("Certificates for https; TLS 1.2 or later, host names are verified"_str);

// A duration from 1 ms to 1 h.
constexpr Param duration_param(atalaya_str name, atalaya_str default_text, atalaya_str summary) {
  return param::duration(view(name), view(summary)).defaults(view(default_text)).range(1e6, 3.6e12);
}
constexpr Param deadline(atalaya_str default_text) {
  return duration_param("deadline"_str, default_text, "Time limit of a whole request"_str);
}
constexpr Param retry_max(atalaya_str summary) {
  return duration_param("retry_max"_str, "5s"_str, summary);
}
constexpr Param dead_letters(atalaya_str summary) {
  return param::size("dead_letters", view(summary)).defaults("16 MiB").range(0, 1e12);
}

}  // namespace atalaya::io
