// SPDX-License-Identifier: Apache-2.0
// Pools of a store: of any bytes, the same with right checksums, and chunks that must come back.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/encode/crc32c.h"
#include "plugins/shared/store/sqlite/chunks/chunk_reader.h"
#include "plugins/shared/store/sqlite/chunks/pool.h"

using namespace atalaya::store;

namespace {

void walk(std::string_view head, std::string_view data) {
  static PoolReader pool;  // state of an earlier one must do no harm
  static ChunkReader reader;
  if (!pool.open(head)) return;
  int64_t entity = -1;
  for (const PoolReader::Member &member : pool.members()) {
    if (member.entity <= entity || pool.find(member.entity) != &member) std::abort();
    entity = member.entity;
  }
  if (!pool.read(data)) return;
  for (const PoolReader::Member &member : pool.members()) {
    if (member.head.size() > member.head_size || member.data.size() != member.data_size) std::abort();
    if (reader.open_member(member.head)) reader.set_data(member.data);
  }
}

void put_crc(std::string &bytes, size_t at, std::string_view of) {
  const uint32_t crc = atalaya::core::crc32c(of);
  std::memcpy(bytes.data() + at, &crc, sizeof(crc));
}

void any(std::string_view bytes) {
  if (bytes.empty()) return;
  const size_t size = std::min(bytes.size() - 1, static_cast<size_t>(static_cast<uint8_t>(bytes[0])));
  std::string head(bytes.substr(1, size));
  const std::string_view data = bytes.substr(1 + size);
  walk(head, data);
  if (head.size() < 9) return;
  put_crc(head, head.size() - 4, data);
  put_crc(head, 0, std::string_view(head).substr(4));
  walk(head, data);
}

// Lines are the bytes of a head and data in turns.
void members(std::string_view bytes) {
  static PoolEncoder encoder;
  std::vector<std::pair<int64_t, Chunk>> added;
  int64_t entity = 0;
  while (!bytes.empty() && added.size() < 1000) {
    const size_t line = std::min(bytes.find('\n'), bytes.size());
    const size_t middle = line / 2;
    entity += 1 + static_cast<int64_t>(line % 3);
    added.push_back({entity, {std::string(bytes.substr(0, middle)), std::string(bytes.substr(middle, line - middle)), 0, 0}});
    encoder.add(entity, added.back().second);
    bytes.remove_prefix(std::min(line + 1, bytes.size()));
  }
  if (added.empty()) return;
  Chunk packed;
  encoder.finish(packed);
  PoolReader pool;
  if (!pool.open(packed.head) || !pool.read(packed.data) || pool.members().size() != added.size()) std::abort();
  for (const auto &[id, chunk] : added) {
    const PoolReader::Member *member = pool.find(id);
    if (member == nullptr || member->head != without_checksums(chunk.head) || member->data != chunk.data) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char *>(data) + 1, size - 1);
  data[0] % 2 == 0 ? any(bytes) : members(bytes);
  return 0;
}
