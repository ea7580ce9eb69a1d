// SPDX-License-Identifier: Apache-2.0
// The first byte selects the kind of the rest: a table of connections, addresses of flows, or a file of hosts.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "plugins/commands/place/host_capacity.h"
#include "plugins/shared/analysis/graph/conntrack.h"
#include "plugins/shared/analysis/graph/flow.h"

using namespace atalaya;

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char *>(data) + 1, size - 1);
  if (data[0] == 'c') {
    graph::Translations translations;
    graph::add_translations(text, translations);
    for (const auto &[seen, real] : translations)
      if (seen == real || seen.protocol.empty()) std::abort();
  } else if (data[0] == 'h') {
    if (const auto capacities = place::parse_capacities(text))
      for (const place::HostCapacity &capacity : capacities.value())
        if (!(capacity.cpu > 0) || capacity.memory < 0) std::abort();
  } else if (graph::endpoint_of(text).address.size() > text.size()) {
    std::abort();
  }
  return 0;
}
