// SPDX-License-Identifier: Apache-2.0
// The files of a spool: segments and state slots of any bytes, and the same with right checksums.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "core/base/encode/crc32c.h"
#include "core/delivery/segment.h"
#include "core/delivery/spool_state.h"

using namespace atalaya::core;

namespace {

// Records that are found are inside the file, in order, and their number is finite.
void walk(std::string_view bytes) {
  const auto header = parse_segment_header(bytes);
  if (header.ok() && (header.value().size > bytes.size() || header.value().size < kSegmentHeaderSize)) std::abort();
  for (size_t at = 0; at < bytes.size();) {
    const size_t found = find_record(bytes, at, 0);
    if (found < at || found > bytes.size()) std::abort();
    if (found == bytes.size()) break;
    const auto record = parse_record_header(bytes.substr(found), 0);
    if (!record || record->size() < kRecordHeaderSize || record->size() % 8 != 0) std::abort();
    if (record->size() <= bytes.size() - found)
      static_cast<void>(body_is_valid(*record, bytes.substr(found + kRecordHeaderSize, record->size() - kRecordHeaderSize)));
    at = found + 8;
  }
}

void put_crc(std::string &bytes, size_t at, size_t from, size_t to) {
  const uint32_t crc = crc32c(std::string_view(bytes).substr(from, to - from));
  std::memcpy(bytes.data() + at, &crc, sizeof(crc));
}

// A state that is accepted reads back as itself.
void state(std::string_view bytes) {
  const auto slot = decode_slot(bytes);
  if (!slot.ok()) return;
  std::string again;
  if (!encode_slot(slot.value(), again).ok()) return;
  const auto second = decode_slot(again);
  if (!second.ok() || !(second.value().state == slot.value().state)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes(reinterpret_cast<const char *>(data), size);
  walk(bytes);
  state(bytes);
  if (size >= kRecordHeaderSize) {
    std::string record = bytes;
    record.replace(0, 4, "ATLR");
    put_crc(record, 60, 0, 60);
    walk(record);
    std::string segment = bytes;
    segment.replace(0, 8, std::string("ATLS\1\0\1\0", 8));
    const auto all = static_cast<uint32_t>(size);
    std::memcpy(segment.data() + 32, &all, sizeof(all));
    put_crc(segment, 40, kSegmentHeaderSize, size);
    put_crc(segment, 44, 0, 44);
    walk(segment);
    std::string slot = bytes;
    slot.replace(0, 8, std::string("ATLP\1\0\0\0", 8));
    const auto rest = static_cast<uint32_t>(size - 24);
    std::memcpy(slot.data() + 16, &rest, sizeof(rest));
    std::memset(slot.data() + 20, 0, 4);
    put_crc(slot, 20, 0, size);
    state(slot);
  }
  return 0;
}
