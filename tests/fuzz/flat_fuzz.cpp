// SPDX-License-Identifier: Apache-2.0
// The reader of flat records on any bytes, and on the same bytes with right checksums, so that the checks behind them are reached.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "core/base/encode/flat.h"
#include "plugins/shared/protocols/formats/encoder.h"

using namespace atalaya;
using namespace atalaya::core;

namespace {

// An accepted batch can be used, and written again.
void use(Batch &batch, const Symbols &symbols) {
  const auto encoder = protocols::make_encoder(protocols::Format::samples, [&](uint32_t id) { return symbols.name(id); });
  std::string text;
  for (uint64_t i = 0; i < batch.count(); ++i) encoder->append(batch.raw().samples[i], text);
  Batch copy;
  copy.append(batch.raw());
  std::string record;
  if (!encode_flat(copy.raw(), symbols, record).ok()) std::abort();
}

void read_all(std::string_view bytes) {
  Symbols symbols;
  Batch batch;
  const size_t maximum = 16 * bytes.size() + 65536;
  while (!bytes.empty()) {
    const uint64_t before = batch.count();
    const auto decoded = decode_flat(bytes, symbols, batch);
    if (!decoded.ok() || decoded.value().truncated()) {
      if (batch.count() != before) std::abort();
      break;
    }
    if (batch.used_bytes() > maximum) std::abort();
    bytes.remove_prefix(decoded.value().size);
  }
  use(batch, symbols);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes(reinterpret_cast<const char *>(data), size);
  read_all(bytes);
  if (size >= kFlatHeaderSize) {
    const uint64_t record_size = size;
    std::memcpy(bytes.data() + 8, &record_size, sizeof(record_size));
    seal_flat(bytes.data(), bytes.size());
    read_all(bytes);
  }
  return 0;
}
