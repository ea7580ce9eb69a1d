// SPDX-License-Identifier: Apache-2.0
// The source "nat": addresses that this host translates, so that the two ends of a connection can be paired.
#include <atalaya/plugin.hpp>

#include "plugins/sources/nat/collector.h"
#include "plugins/sources/nat/nat_metrics.h"

namespace atalaya::nat {
namespace {

class Nat final : public CollectingSource<Collector> {
 public:
  static constexpr Param params[] = {
      param::integer("max", "Maximum translations per window, those with the most connections; the rest counts in nat.others")
          .defaults("10000")
          .range(1, 1000000),
  };
  static constexpr Need needs[] = {
      need::capability("CAP_NET_ADMIN", "no translations: the kernel refuses to list tracked connections")};
  static constexpr Description description = {.name = "nat"_str,
                                              .summary = "Addresses and ports that the host translates, by connection"_str,
                                              .params = params,
                                              .metrics = kNatMetrics,
                                              .needs = needs,
                                              .flags = ATALAYA_BLOCKING};

  explicit Nat(Host host) : CollectingSource(host, static_cast<size_t>(host.integer("max"))) {}
};

}  // namespace
}  // namespace atalaya::nat

ATALAYA_PLUGIN("nat", "0.1.0", "source nat", atalaya::nat::Nat)
