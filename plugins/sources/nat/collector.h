// SPDX-License-Identifier: Apache-2.0
// Emits a sample per translated service.
#pragma once

#include <atalaya/plugin.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include "plugins/sources/nat/conntrack_table.h"
#include "plugins/sources/nat/translations.h"

namespace atalaya::nat {

class Collector {
 public:
  Collector(Host host, size_t max);
  void start() { reported_ = false; }
  void stop() {}
  void collect(const Window &window, Batch &batch);

 private:
  void emit(const Translation &translation, uint64_t connections, Batch &batch) const;
  void add_service(const Service &service, const uint32_t (&tags)[3], Sample &sample, Batch &batch) const;
  void report(Level level, const std::string &problem);

  Host host_;
  uint32_t connections_id_, tracked_id_, others_id_, protocol_id_;
  uint32_t seen_ids_[3], real_ids_[3];  // client, server, port
  ConntrackTable table_;
  Translations translations_;
  bool reported_ = false;
};

}  // namespace atalaya::nat
