// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/net/records.h"

#include <cstring>

namespace atalaya::net {

size_t parse_records(std::span<const std::byte> bytes, const Backend::Callback &take) {
  size_t at = 0;
  for (net_record record; bytes.size() - at >= sizeof(record); at += sizeof(record)) {
    std::memcpy(&record, &bytes[at], sizeof(record));
    take(record);
  }
  return at;
}

}  // namespace atalaya::net
