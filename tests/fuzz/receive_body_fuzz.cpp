// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "core/base/encode/flat.h"
#include "plugins/shared/io/compress/decoder.h"
#include "plugins/shared/protocols/flat/flat_reader.h"
#include "plugins/shared/protocols/influx/influx_reader.h"
#include "plugins/shared/protocols/opentsdb/json_reader.h"
#include "plugins/shared/protocols/otlp/otlp_reader.h"

namespace {

using namespace atalaya;
using namespace atalaya::protocols;

// Samples that reach the pipeline must be whole, whatever was sent.
class Check final : public RecordReceiver {
 public:
  bool take(const protocols::Record &record) override {
    if (record.kind > ATALAYA_SPAN) std::abort();
    if (record.point && record.fields.size() != 1) std::abort();
    size_t bytes = record.text.size();
    for (const protocols::RecordTag &tag : record.tags) {
      if (tag.key.empty()) std::abort();
      bytes += std::string(tag.key).size() + std::string(tag.value).size();
    }
    for (const protocols::RecordField &field : record.fields) bytes += std::string(field.name).size();
    return bytes % 7 != 0;
  }
  bool declare(std::string_view name, const atalaya_metric_info &info) override {
    if (info.kind < ATALAYA_GAUGE || info.kind > ATALAYA_TOTAL) std::abort();
    const size_t bytes = std::string(name).size() + std::string(info.unit.data, info.unit.size).size() +
                         std::string(info.summary.data, info.summary.size).size() +
                         std::string(info.source.data, info.source.size).size();
    if (bytes > 8192) std::abort();
    return true;
  }
};

}  // namespace

// The first byte selects the form and encoding of the rest.
// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static io::Decoder decoder;
  static protocols::JsonReader reader;
  static protocols::FlatReader flat;
  static protocols::InfluxReader influx;
  static protocols::OtlpReader otlp;
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char *>(data) + 1, size - 1);
  constexpr size_t kLimit = 65536;
  std::string_view text;
  const auto encoding = static_cast<io::Encoding>(data[0] >> 4 & 3);
  if (decoder.decode(encoding, body, kLimit, protocols::DocumentReader::kPadding, text) != io::Decoder::Result::complete) return 0;
  if (text.size() > kLimit) std::abort();
  Check check;
  const protocols::Rules rules{(data[0] & 8) == 0, (data[0] & 4) != 0};
  const uint8_t form = data[0] >> 6 == 0 ? data[0] & 3 : 3 + (data[0] >> 6);
  const protocols::Account account = form == 4   ? influx.read(text, 1'000'000, 1, rules, check)
                                     : form == 5 ? otlp.read(text, rules, check)
                                     : form == 6 ? otlp.read_json(text, rules, check)
                                     : form == 0 ? reader.read_put(text, rules, check)
                                     : form == 1 ? reader.read_stacks(text, rules, check)
                                     : form == 2 ? reader.read_lines(text, rules, check)
                                                 : flat.read(text, rules, check);
  if (form == 3 && text.size() >= atalaya::core::kFlatHeaderSize) {
    // With right checksums, so that the checks behind them are reached.
    std::string record(text);
    const uint64_t record_size = record.size();
    std::memcpy(record.data() + 8, &record_size, sizeof(record_size));
    atalaya::core::seal_flat(record.data(), record.size());
    flat.read(record, rules, check);
  }
  if (!account.fatal.empty() && account.good + account.failed > 0) std::abort();
  if (rules.details && account.failed > 0 && account.errors.empty()) std::abort();
  return 0;
}
