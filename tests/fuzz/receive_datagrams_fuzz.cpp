// SPDX-License-Identifier: Apache-2.0
// Datagrams of statsd and collectd. The first byte selects the protocol.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "plugins/shared/protocols/collectd/collectd.h"
#include "plugins/shared/protocols/statsd/statsd.h"

namespace {

using namespace atalaya;
using namespace atalaya::protocols;

class Check final : public RecordReceiver {
 public:
  bool take(const protocols::Record &record) override {
    if (record.kind != ATALAYA_METRICS || record.fields.size() != 1 || record.time_ns <= 0 || record.duration_ns < 0) std::abort();
    const protocols::RecordField &field = record.fields.front();
    if (field.name.empty() || (field.type == ATALAYA_F64 && !std::isfinite(field.f64))) std::abort();
    size_t bytes = std::string(field.name).size();
    for (const protocols::RecordTag &tag : record.tags) bytes += std::string(tag.key).size() + std::string(tag.value).size();
    return bytes % 7 != 0;
  }
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  const auto protocol =
      data[0] % 2 == 0 ? protocols::make_statsd({.series = 16, .bytes = 4096, .members = 8}) : protocols::make_collectd(4096);
  const std::string_view text(reinterpret_cast<const char *>(data) + 1, size - 1);
  for (int window = 0; window < 2; ++window) {
    protocol->add(text);
    protocol->add(text.substr(text.size() / 2));
    Check check;
    if (const auto found = protocol->take(1, 1'000'000'000)) found->read(protocols::Rules{}, check);
  }
  return 0;
}
