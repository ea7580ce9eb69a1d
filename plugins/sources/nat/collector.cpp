// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/nat/collector.h"

#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "plugins/shared/host/network/address_text.h"
#include "plugins/sources/nat/nat_metrics.h"

namespace atalaya::nat {
namespace {

void tag_address(const Address &address, uint32_t tag, Sample &sample, Batch &batch) {
  uint8_t bytes[16];
  std::copy(address.begin(), address.end(), bytes);
  batch.tag(sample, tag, network::AddressText(bytes).text());
}

}  // namespace

Collector::Collector(Host host, size_t max)
    : host_(host),
      connections_id_(host.intern(view(kConnections.name))),
      tracked_id_(host.intern(view(kTracked.name))),
      others_id_(host.intern(view(kOthers.name))),
      protocol_id_(host.intern("protocol")),
      seen_ids_{host.intern("local"), host.intern("remote"), host.intern("port")},
      real_ids_{host.intern("server_remote"), host.intern("server_local"), host.intern("server_port")},
      translations_(max) {}

void Collector::collect(const Window & /*window*/, Batch &batch) {
  if (!tracks_connections()) return report(Level::info, "no translations: the kernel does not track connections here");
  translations_.clear();
  int64_t tracked = 0;
  const core::Status read = table_.read([&](const Connection &connection) {
    ++tracked;
    translations_.add(connection);
  });
  if (!read) return report(Level::warning, "no translations: " + read.error());
  const Sums sums = translations_.sums();
  for (const auto &[translation, connections] : sums.largest) emit(translation, connections, batch);
  Sample &sample = batch.add(ATALAYA_METRICS, 0, 2);
  batch.field(sample, tracked_id_, tracked);
  batch.field(sample, others_id_, static_cast<int64_t>(sums.others));
}

// Logs the first problem only.
void Collector::report(Level level, const std::string &problem) {
  if (!std::exchange(reported_, true)) host_.log(level, problem);
}

void Collector::emit(const Translation &translation, uint64_t connections, Batch &batch) const {
  Sample &sample = batch.add(ATALAYA_METRICS, 7, 1);
  add_service(translation.seen, seen_ids_, sample, batch);
  batch.tag(sample, protocol_id_, translation.protocol == IPPROTO_TCP ? "tcp" : "udp");
  add_service(translation.real, real_ids_, sample, batch);
  batch.field(sample, connections_id_, static_cast<int64_t>(connections));
}

void Collector::add_service(const Service &service, const uint32_t (&tags)[3], Sample &sample, Batch &batch) const {
  tag_address(service.client, tags[0], sample, batch);
  tag_address(service.server, tags[1], sample, batch);
  std::array<char, 8> digits{};
  const char *end = std::to_chars(digits.data(), digits.data() + digits.size(), service.port).ptr;
  batch.tag(sample, tags[2], {digits.data(), static_cast<size_t>(end - digits.data())});
}

}  // namespace atalaya::nat
