// SPDX-License-Identifier: Apache-2.0
// Parameters that several sinks have, word for word.
#pragma once

#include <atalaya/plugin.hpp>

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

}  // namespace atalaya::sinks
