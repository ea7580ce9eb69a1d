// SPDX-License-Identifier: Apache-2.0
// Chunks, rolled ones and rows of a store: of any bytes, the same with right checksums, and series that must come back.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/encode/crc32c.h"
#include "plugins/shared/store/sqlite/chunks/chunk_encoder.h"
#include "plugins/shared/store/sqlite/chunks/chunk_reader.h"
#include "plugins/shared/store/sqlite/rollup/rollup_points.h"
#include "plugins/shared/store/sqlite/rows/block.h"
#include "plugins/shared/store/sqlite/rows/fields.h"

using namespace atalaya::store;

namespace {

// The result is whole and in order.
void walk(std::string_view head, std::string_view data) {
  static ChunkReader reader;  // state of an earlier chunk must do no harm
  if (!reader.open(head)) return;
  reader.set_data(data);
  Values values;
  int64_t metric = -1;
  for (const Part &part : reader.parts()) {
    if (part.metric <= metric || reader.find(part.metric) != &part) std::abort();
    metric = part.metric;
    const Times *times = reader.times(part);
    if (times == nullptr || !reader.values(part, values)) continue;
    const auto count = static_cast<size_t>(part.summary.count);
    if (times->times_ns.size() != count || times->durations_ns.size() != count || values.reals.size() != count) std::abort();
    for (size_t i = 0; i < count; ++i) {
      static_cast<void>(values.at(i));
      if (i > 0 && times->times_ns[i] <= times->times_ns[i - 1]) std::abort();
    }
    size_t begin = 0;
    for (const Block &block : reader.blocks(part)) {
      if (block.begin != begin || block.end <= begin || block.end > count) std::abort();
      if (times->times_ns[begin] != block.summary.first_ns || times->times_ns[block.end - 1] != block.summary.last_ns) std::abort();
      begin = block.end;
    }
    if (begin != 0 && begin != count) std::abort();
    if (times->times_ns.front() != part.summary.first_ns || times->times_ns.back() != part.summary.last_ns) std::abort();
  }
}

// The same bytes as a rolled chunk: the result is whole, and can be rolled up further.
void walk_rolled(std::string_view head, std::string_view data) {
  static ChunkReader reader;
  if (!reader.open(head)) return;
  reader.set_data(data);
  std::vector<RolledPoint> points;
  for (const int64_t metric : rolled_metrics(reader)) {
    if (!read_rolled(reader, metric, points)) continue;
    for (const RolledPoint &point : points)
      if (point.count < 1 || point.first_ns > point.last_ns || point.last_ns > point.time_ns) std::abort();
  }
  constexpr int64_t kMinute = 60'000'000'000;
  RolledColumns rolled(kMinute), plain(kMinute);
  if (rolled.add_rolled(reader)) static_cast<void>(rolled.columns(INT64_MIN, INT64_MAX));
  if (plain.add_chunk(reader)) static_cast<void>(plain.columns(INT64_MIN, INT64_MAX));
}

void put_crc(std::string &bytes, size_t at, std::string_view of) {
  const uint32_t crc = atalaya::core::crc32c(of);
  std::memcpy(bytes.data() + at, &crc, sizeof(crc));
}

void chunk(std::string_view bytes) {
  if (bytes.size() < 2) return;
  const size_t size =
      std::min(bytes.size() - 2, static_cast<size_t>(static_cast<uint8_t>(bytes[0]) << 8 | static_cast<uint8_t>(bytes[1])));
  std::string head(bytes.substr(2, size));
  const std::string_view data = bytes.substr(2 + size);
  walk(head, data);
  walk_rolled(head, data);
  if (head.size() < 9) return;
  put_crc(head, head.size() - 4, data);
  put_crc(head, 0, std::string_view(head).substr(4));
  walk(head, data);
  walk_rolled(head, data);
}

void fields(std::string_view bytes) {
  FieldReader reader(bytes);
  while (reader.next())
    if (!reader.value().is_count && !std::isfinite(reader.value().real) && !std::isinf(reader.value().real)) std::abort();
}

// What a row becomes; false: one of them is damaged.
bool change(std::string_view stored, std::string_view fields, BlockChange how, std::string &out) {
  BlockText text;
  if (!change_block(stored, fields, how, text)) return false;
  out = text.finish();
  return true;
}

// A stored row of either form, a line's end, and the row that is put into it.
void block(std::string_view bytes) {
  const size_t line = bytes.find('\n');
  if (line == std::string_view::npos) return;
  const std::string_view fresh = bytes.substr(line + 1);
  std::string put, again, removed;
  static_cast<void>(last_block_of(bytes));
  if (!change(bytes.substr(0, line), fresh, BlockChange::put, put)) return;
  int64_t last = -1;
  for (BlockReader samples(put); samples.next();) {
    if (samples.entity() <= last) std::abort();
    last = samples.entity();
    FieldReader values(samples.fields());
    while (values.next()) {
    }
    if (values.damaged()) std::abort();
  }
  if (last_block_of(put) != (last < 0 ? -1 : block_of(last))) std::abort();
  if (!change(put, fresh, BlockChange::put, again) || again != put) std::abort();
  if (!change(put, fresh, BlockChange::remove, removed)) std::abort();
  if (!change(removed, fresh, BlockChange::remove, again) || again != removed) std::abort();
}

void encode_and_read(const std::vector<Column> &columns, Effort effort) {
  Chunk packed;
  static ChunkEncoder encoder;
  encoder.encode(columns, packed, effort);
  ChunkReader reader;
  if (!reader.open(packed.head)) std::abort();
  reader.set_data(packed.data);
  Values values;
  for (const Column &column : columns) {
    const Part *part = reader.find(column.metric);
    if (part == nullptr) std::abort();
    const Times *times = reader.times(*part);
    if (times == nullptr || !reader.values(*part, values)) std::abort();
    if (times->times_ns != column.times_ns || times->durations_ns != column.durations_ns) std::abort();
    for (size_t i = 0; i < column.size(); ++i) {
      const Number value = values.at(i);
      if (value.is_count != column.values[i].is_count || std::memcmp(&value.count, &column.values[i].count, 8) != 0) std::abort();
    }
  }
}

// Every nine bytes are a point.
void series(std::string_view bytes) {
  std::vector<Column> columns(2);
  columns[0].metric = 1;
  columns[1].metric = 200;
  int64_t time_ns = 1'700'000'000'000'000'000;
  for (; bytes.size() >= 9; bytes.remove_prefix(9)) {
    const auto how = static_cast<uint8_t>(bytes[0]);
    Number value;
    value.is_count = (how & 1) != 0;
    std::memcpy(&value.count, bytes.data() + 1, 8);
    if ((how & 2) != 0) value.count >>= 40;
    if (!value.is_count && (how & 2) != 0) value.real = static_cast<double>(value.count) / 100;
    time_ns += 1 + (how >> 4) * int64_t{1'000'000'000};
    columns[how >> 2 & 1].add(time_ns, how >> 3, value);
  }
  std::erase_if(columns, [](const Column &column) { return column.size() == 0; });
  if (columns.empty()) return;
  for (const Effort effort : {Effort::full, Effort::quick, Effort::plain}) encode_and_read(columns, effort);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char *>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      chunk(bytes);
      break;
    case 1:
      fields(bytes);
      break;
    case 2:
      series(bytes);
      break;
    default:
      block(bytes);
  }
  return 0;
}
