// SPDX-License-Identifier: Apache-2.0
#include "core/delivery/spool_state.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/encode/crc32c.h"
#include "core/delivery/bytes.h"

namespace atalaya::core {
namespace {

constexpr std::string_view kMagic = "ATLP";
constexpr uint16_t kStateVersion = 1;
constexpr size_t kSlotHeader = 24;
constexpr size_t kSlotSize = size_t{64} << 10;
constexpr size_t kMaxReasons = 32;  // per pipeline; further reasons are counted as "other"

void put_text(std::string &out, std::string_view text) {
  put(out, uint64_t{text.size()});
  out += text;
}

// Reads numbers and texts in their order; after a failure it returns zeros.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  uint64_t number() {
    uint64_t value = 0;
    if (bytes_.size() < sizeof(value)) return fail();
    std::memcpy(&value, bytes_.data(), sizeof(value));
    bytes_.remove_prefix(sizeof(value));
    return value;
  }
  std::string text() {
    const uint64_t size = number();
    if (size > bytes_.size()) return fail(), "";
    std::string text(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return text;
  }
  bool failed() const { return failed_; }
  bool at_end() const { return bytes_.empty(); }

 private:
  uint64_t fail() {
    failed_ = true;
    bytes_ = {};
    return 0;
  }
  std::string_view bytes_;
  bool failed_ = false;
};

SpoolCounts read_counts(Reader &reader) {
  SpoolCounts counts;
  counts.pipeline = reader.text();
  counts.appended = reader.number();
  counts.consumed = reader.number();
  counts.delivered = reader.number();
  counts.dead_letter = reader.number();
  const uint64_t reasons = reader.number();
  for (uint64_t i = 0; i < reasons && !reader.failed(); ++i) {
    std::string reason = reader.text();
    counts.dropped[std::move(reason)] = reader.number();
  }
  return counts;
}

}  // namespace

uint64_t SpoolCounts::dropped_total() const {
  uint64_t sum = 0;
  for (const auto &[reason, samples] : dropped) sum += samples;
  return sum;
}

void SpoolCounts::drop(std::string_view reason, uint64_t samples) {
  if (samples == 0) return;
  auto found = dropped.find(reason);
  if (found == dropped.end()) found = dropped.emplace(dropped.size() < kMaxReasons ? reason : "other", 0).first;
  found->second += samples;
}

SpoolCounts &SpoolState::counts_of(std::string_view pipeline) {
  for (SpoolCounts &counts : pipelines)
    if (counts.pipeline == pipeline) return counts;
  SpoolCounts &made = pipelines.emplace_back();
  made.pipeline = pipeline;
  return made;
}

Status encode_slot(const StateSlot &slot, std::string &out) {
  out.clear();
  out += kMagic;
  put(out, kStateVersion);
  put(out, uint16_t{0});
  put(out, slot.generation);
  put(out, uint64_t{0});
  for (const uint64_t number : {slot.state.id, slot.state.next_sequence, slot.state.segment, slot.state.offset}) put(out, number);
  put(out, uint64_t{slot.state.pipelines.size()});
  for (const SpoolCounts &counts : slot.state.pipelines) {
    put_text(out, counts.pipeline);
    for (const uint64_t number : {counts.appended, counts.consumed, counts.delivered, counts.dead_letter}) put(out, number);
    put(out, uint64_t{counts.dropped.size()});
    for (const auto &[reason, samples] : counts.dropped) {
      put_text(out, reason);
      put(out, samples);
    }
  }
  if (out.size() > kSlotSize) return Error{"more pipelines and reasons than a spool's state has room for"};
  const auto size = static_cast<uint32_t>(out.size() - kSlotHeader);
  std::memcpy(out.data() + 16, &size, sizeof(size));
  const uint32_t crc = crc32c(out);
  std::memcpy(out.data() + 20, &crc, sizeof(crc));
  return Done{};
}

Result<StateSlot> decode_slot(std::string_view bytes) {
  uint16_t version = 0;
  uint32_t size = 0;
  uint32_t crc = 0;
  if (bytes.size() < kSlotHeader || !bytes.starts_with(kMagic)) return Error{"not a spool's state"};
  StateSlot slot;
  std::memcpy(&version, bytes.data() + 4, sizeof(version));
  std::memcpy(&slot.generation, bytes.data() + 8, sizeof(slot.generation));
  std::memcpy(&size, bytes.data() + 16, sizeof(size));
  std::memcpy(&crc, bytes.data() + 20, sizeof(crc));
  if (size > bytes.size() - kSlotHeader || size > kSlotSize) return Error{"a spool's state that is cut off"};
  std::string whole(bytes.substr(0, kSlotHeader + size));
  std::memset(whole.data() + 20, 0, sizeof(crc));
  if (crc32c(whole) != crc) return Error{"a spool's state with a wrong checksum"};
  if (version != kStateVersion) return Error{"a spool's state of format " + std::to_string(version)};
  Reader reader(std::string_view(whole).substr(kSlotHeader));
  slot.state.id = reader.number();
  slot.state.next_sequence = reader.number();
  slot.state.segment = reader.number();
  slot.state.offset = reader.number();
  const uint64_t pipelines = reader.number();
  for (uint64_t i = 0; i < pipelines && !reader.failed(); ++i) slot.state.pipelines.push_back(read_counts(reader));
  if (reader.failed() || !reader.at_end()) return Error{"a spool's state that does not add up"};
  return slot;
}

Result<StateFile> StateFile::open(const std::string &path, bool writable) {
  StateFile made;
  made.file_ = Descriptor(::open(path.c_str(), (writable ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC, 0600));
  if (!made.file_) return Error{path + ": " + error_text(errno)};
  if (writable)
    if (const int failed = ::posix_fallocate(made.file_.get(), 0, 2 * kSlotSize); failed != 0)
      return Error{path + ": " + error_text(failed)};
  return made;
}

bool StateFile::load(SpoolState &state, bool &damaged) {
  bool found = false;
  damaged = false;
  for (size_t slot = 0; slot < 2; ++slot) {
    bytes_.resize(kSlotSize);
    const ssize_t got = ::pread(file_.get(), bytes_.data(), kSlotSize, static_cast<off_t>(slot * kSlotSize));
    bytes_.resize(got > 0 ? static_cast<size_t>(got) : 0);
    const auto decoded = decode_slot(bytes_);
    if (!decoded) {
      damaged = damaged || std::any_of(bytes_.begin(), bytes_.end(), [](char byte) { return byte != 0; });
      continue;
    }
    if (found && decoded.value().generation < generation_) continue;
    found = true;
    generation_ = decoded.value().generation;
    state = decoded.value().state;
  }
  return found;
}

Status StateFile::store(const SpoolState &state) {
  if (Status encoded = encode_slot({generation_ + 1, state}, bytes_); !encoded) return encoded;
  const off_t at = static_cast<off_t>((generation_ + 1) % 2 * kSlotSize);
  size_t done = 0;
  while (done < bytes_.size()) {
    const ssize_t put = ::pwrite(file_.get(), bytes_.data() + done, bytes_.size() - done, at + static_cast<off_t>(done));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return Error{"the spool's state: " + error_text(errno)};
    done += static_cast<size_t>(put);
  }
  ++generation_;
  return Done{};
}

Status StateFile::sync() {
  if (::fdatasync(file_.get()) != 0) return Error{"the spool's state: " + error_text(errno)};
  return Done{};
}

}  // namespace atalaya::core
