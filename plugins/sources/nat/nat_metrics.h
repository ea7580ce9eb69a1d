// SPDX-License-Identifier: Apache-2.0
// The metrics of the source "nat".
#pragma once

#include <atalaya/plugin.hpp>

namespace atalaya::nat {

inline constexpr MetricTag kTranslationTags[] = {metric::identity("host"),          metric::identity("local"),
                                                 metric::identity("remote"),        metric::identity("port"),
                                                 metric::identity("protocol"),      metric::identity("server_local"),
                                                 metric::identity("server_remote"), metric::identity("server_port")};

inline constexpr Metric kConnections =
    metric::gauge("nat.connections", "1", metric::count, kTranslationTags, "ctnetlink",
                  "Tracked connections whose addresses or service port are translated, by client and service");
inline constexpr Metric kTracked = metric::gauge("nat.tracked", "1", metric::count, metric::host_tags, "ctnetlink",
                                                 "Tracked connections of TCP and UDP, translated or not");
inline constexpr Metric kOthers = metric::gauge("nat.others", "1", metric::count, metric::host_tags, "parameter max",
                                                "Translated connections beyond the maximum number of translations");
inline constexpr Metric kNatMetrics[] = {kConnections, kTracked, kOthers};

}  // namespace atalaya::nat
