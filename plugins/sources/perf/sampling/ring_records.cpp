// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/perf/sampling/ring_records.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <cstring>

namespace atalaya::perf {
namespace {

// Reads until the end, then returns zeros.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  T take() {
    T value{};
    if (bytes_.size() < sizeof(T)) {
      failed_ = true;
      bytes_ = {};
      return value;
    }
    std::memcpy(&value, bytes_.data(), sizeof(T));
    bytes_ = bytes_.subspan(sizeof(T));
    return value;
  }
  std::span<const std::byte> rest() const { return bytes_; }
  bool failed() const { return failed_; }

 private:
  std::span<const std::byte> bytes_;
  bool failed_ = false;
};

void read_ids(Reader &reader, RingRecord &record) {
  record.pid = reader.take<int32_t>();
  record.tid = reader.take<int32_t>();
}

// Kernel and user frames, each group after a marker word.
bool read_chain(Reader &reader, RingRecord &record) {
  const auto count = reader.take<uint64_t>();
  if (reader.failed() || count > reader.rest().size() / sizeof(uint64_t)) return false;
  std::vector<uint64_t> *into = nullptr;
  for (uint64_t i = 0; i < count; ++i) {
    const auto frame = reader.take<uint64_t>();
    if (frame == PERF_CONTEXT_KERNEL)
      into = &record.kernel;
    else if (frame == PERF_CONTEXT_USER)
      into = &record.user;
    else if (frame >= PERF_CONTEXT_MAX)
      into = nullptr;  // a hypervisor's, or a guest's
    else if (into != nullptr)
      into->push_back(frame);
  }
  return true;
}

bool read_comm(std::span<const std::byte> bytes, RingRecord &record) {
  static constexpr size_t kIds = 2 * sizeof(int32_t), kTail = sizeof(int32_t) * 2 + sizeof(uint64_t);
  if (bytes.size() < kIds + kTail) return false;
  Reader reader(bytes);
  read_ids(reader, record);
  const auto *text = reinterpret_cast<const char *>(reader.rest().data());
  record.comm.assign(text, ::strnlen(text, bytes.size() - kIds - kTail));
  Reader tail(bytes.last(sizeof(uint64_t)));
  record.time_ns = tail.take<uint64_t>();
  return true;
}

}  // namespace

std::optional<RingRecord> parse_record(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  const auto header = reader.take<perf_event_header>();
  if (reader.failed() || header.size != bytes.size()) return std::nullopt;
  RingRecord record;
  bool good = true;
  switch (header.type) {
    case PERF_RECORD_SAMPLE:
      read_ids(reader, record);
      record.time_ns = reader.take<uint64_t>();
      good = read_chain(reader, record);
      break;
    case PERF_RECORD_COMM:
      record.type = (header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0 ? RingRecord::Type::exec : RingRecord::Type::comm;
      good = read_comm(reader.rest(), record);
      break;
    case PERF_RECORD_EXIT:
      record.type = RingRecord::Type::exit;
      record.pid = reader.take<int32_t>();
      reader.take<int32_t>();  // the parent
      record.tid = reader.take<int32_t>();
      reader.take<int32_t>();
      record.time_ns = reader.take<uint64_t>();
      break;
    case PERF_RECORD_LOST:
      record.type = RingRecord::Type::lost;
      reader.take<uint64_t>();  // which event
      record.lost = reader.take<uint64_t>();
      break;
    default:
      return std::nullopt;
  }
  return good && !reader.failed() ? std::optional(std::move(record)) : std::nullopt;
}

std::span<const std::byte> record_at(std::span<const std::byte> ring, uint64_t position, uint64_t head,
                                     std::vector<std::byte> &joined) {
  const auto copy = [&](uint64_t size) {
    joined.resize(size);
    const uint64_t at = position & (ring.size() - 1), first = std::min<uint64_t>(size, ring.size() - at);
    std::memcpy(joined.data(), ring.data() + at, first);
    std::memcpy(joined.data() + first, ring.data(), size - first);
  };
  perf_event_header header{};
  if (head - position > ring.size() || head - position < sizeof(header)) return {};
  copy(sizeof(header));
  std::memcpy(&header, joined.data(), sizeof(header));
  if (header.size < sizeof(header) || header.size > head - position) return {};
  copy(header.size);
  return joined;
}

}  // namespace atalaya::perf
