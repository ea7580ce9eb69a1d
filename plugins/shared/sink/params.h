// SPDX-License-Identifier: Apache-2.0
// Parameters that several sinks have: the same names, types and limits everywhere. Where the words depend on the sink, it says
// them.
#pragma once

#include <atalaya/plugin.hpp>

#include <iterator>

namespace atalaya::sinks {

using namespace atalaya::literals;

inline constexpr Param kTag[] = {{.type = ATALAYA_STRING, .summary = "A tag."_str}};
inline constexpr Param kMaxTags = {.name = "max_tags"_str,
                                   .type = ATALAYA_INT,
                                   .flags = ATALAYA_BOUNDED,
                                   .default_text = "8"_str,
                                   .unit = "tags"_str,
                                   .summary = "opentsdb: the most tags of a point (its tsd.storage.max_tags)."_str,
                                   .min = 1,
                                   .max = 256};
inline constexpr Param kDropTags = {
    .name = "drop_tags"_str,
    .type = ATALAYA_LIST,
    .default_text = "command,user,cgroup,parent,unit,container"_str,
    .summary =
        "opentsdb: tags that identify nothing; of a sample with too many they are left out in this order, until it has few enough."_str,
    .items = kTag,
    .item_count = 1,
    .item_size = sizeof(Param)};

// The members of `tls`.
inline constexpr Param kTls[] = {
    {.name = "ca"_str, .type = ATALAYA_STRING, .summary = "PEM file of the authorities to trust; absent: the system's."_str},
    {.name = "certificate"_str,
     .type = ATALAYA_STRING,
     .summary = "PEM file of the certificate (and chain) that this agent shows."_str},
    {.name = "key"_str, .type = ATALAYA_STRING, .summary = "PEM file of that certificate's private key."_str},
};
constexpr Param tls(atalaya_str summary) {
  return {.name = "tls"_str,
          .type = ATALAYA_RECORD,
          .summary = summary,
          .items = kTls,
          .item_count = std::size(kTls),
          .item_size = sizeof(Param)};
}
inline constexpr Param kHttpTls = tls("Certificates for https; TLS 1.2 is the least, and names are checked."_str);

// From a millisecond to an hour.
constexpr Param span_of_time(atalaya_str name, atalaya_str default_text, atalaya_str summary) {
  return {.name = name,
          .type = ATALAYA_DURATION,
          .flags = ATALAYA_BOUNDED,
          .default_text = default_text,
          .summary = summary,
          .min = 1e6,
          .max = 3.6e12};
}
constexpr Param deadline(atalaya_str default_text) {
  return span_of_time("deadline"_str, default_text, "How long a request may take in all, however slowly the server moves."_str);
}
constexpr Param retry_max(atalaya_str summary) {
  return span_of_time("retry_max"_str, "5s"_str, summary);
}
constexpr Param dead_letters(atalaya_str summary) {
  return {.name = "dead_letters"_str,
          .type = ATALAYA_SIZE,
          .flags = ATALAYA_BOUNDED,
          .default_text = "16 MiB"_str,
          .summary = summary,
          .min = 0,
          .max = 1e12};
}

}  // namespace atalaya::sinks
