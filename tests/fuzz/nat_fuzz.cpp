// SPDX-License-Identifier: Apache-2.0
// Datagrams of the kernel's list of tracked connections, one after the other: each begins with its size in two bytes.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "plugins/sources/nat/translations.h"

using namespace atalaya;

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  network::Bytes rest(reinterpret_cast<const std::byte *>(data), size);
  nat::Translations translations(4);
  uint64_t connections = 0;
  while (rest.size() >= 2) {
    const auto length = network::load<uint16_t>(rest, 0);
    rest = rest.subspan(2);
    const size_t part = std::min<size_t>(length, rest.size());
    const nat::ListProgress end = nat::parse_connections(rest.first(part), [&](const nat::Connection &connection) {
      ++connections;
      translations.add(connection);
    });
    if (end.error < 0 || end.error > 4095 || (end.error != 0 && !end.done)) std::abort();
    rest = rest.subspan(part);
  }
  const nat::Sums sums = translations.sums();
  uint64_t counted = sums.others;
  for (const auto &[translation, number] : sums.largest) {
    if (translation.seen == translation.real) std::abort();
    counted += number;
  }
  if (sums.largest.size() > 4 || counted > connections) std::abort();
  return 0;
}
