// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/chunks/integer_runs.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "plugins/shared/store/sqlite/chunks/byte_reader.h"
#include "plugins/shared/store/sqlite/chunks/chunk_format.h"

namespace atalaya::store {
namespace {

constexpr size_t kPiece = 8;           // integers that are looked at together before they are joined
constexpr int64_t kJump = 255;         // a larger step ends a piece
constexpr uint64_t kHeadBits = 4 * 8;  // of a run: about

uint64_t cost_of(size_t count, int64_t minimum, int64_t maximum) {
  const auto bits = static_cast<uint64_t>(std::bit_width(static_cast<uint64_t>(minus(maximum, minimum))));
  return kHeadBits + bits * count;
}

// The bits of integers, the lowest first.
class BitWriter {
 public:
  explicit BitWriter(std::string &out) : out_(out) {}
  void put(uint64_t value, int bits) {
    word_ |= value << used_;
    used_ += bits;
    for (; used_ >= 8; used_ -= 8) {
      out_ += static_cast<char>(word_);
      word_ >>= 8;
    }
  }
  void flush() {
    if (used_ > 0) out_ += static_cast<char>(word_);
  }

 private:
  std::string &out_;
  uint64_t word_ = 0;
  int used_ = 0;
};

// The last bytes, followed by zeroes.
uint64_t load_end(const char *at, const char *end) {
  uint64_t word = 0;
  std::memcpy(&word, at, std::min(sizeof(word), static_cast<size_t>(end - at)));
  return word;
}

void unpack(std::string_view bytes, int bits, uint64_t base, std::span<uint64_t> out) {
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  const char *const begin = bytes.data(), *const end = begin + bytes.size();
  const auto width = static_cast<size_t>(bits);
  // Those whose load ends inside.
  const size_t whole = bytes.size() < 8 ? 0 : std::min(out.size(), ((bytes.size() - 8) * 8) / width + 1);
  size_t bit = 0;
  for (size_t i = 0; i < whole; ++i, bit += width) {
    uint64_t word = 0;
    std::memcpy(&word, begin + bit / 8, sizeof(word));
    out[i] = base + (word >> (bit % 8) & mask);
  }
  for (size_t i = whole; i < out.size(); ++i, bit += width) out[i] = base + (load_end(begin + bit / 8, end) >> (bit % 8) & mask);
}

}  // namespace

// A run is joined with the one before while both together cost less.
void IntegerRuns::push(std::span<const int64_t> integers, size_t begin, size_t end) {
  const auto [minimum, maximum] =
      std::minmax_element(integers.begin() + static_cast<ptrdiff_t>(begin), integers.begin() + static_cast<ptrdiff_t>(end));
  Run run{begin, end, *minimum, *maximum, cost_of(end - begin, *minimum, *maximum)};
  while (!runs_.empty()) {
    const Run &last = runs_.back();
    const int64_t lower = std::min(last.minimum, run.minimum), upper = std::max(last.maximum, run.maximum);
    const uint64_t cost = cost_of(run.end - last.begin, lower, upper);
    if (cost > last.cost + run.cost) break;
    run = {last.begin, run.end, lower, upper, cost};
    runs_.pop_back();
  }
  runs_.push_back(run);
}

void IntegerRuns::find_runs(std::span<const int64_t> integers) {
  runs_.clear();
  for (size_t begin = 0; begin < integers.size();) {
    size_t end = begin + 1;
    while (end < integers.size() && integers[end] == integers[begin]) ++end;
    // Few equal ones go with their neighbours, up to the next jump.
    int64_t minimum = integers[begin], maximum = minimum;
    for (; end < integers.size() && end - begin < kPiece; ++end) {
      const int64_t lower = std::min(minimum, integers[end]), upper = std::max(maximum, integers[end]);
      if (minus(upper, lower) > 3 * minus(maximum, minimum) + kJump) break;
      minimum = lower;
      maximum = upper;
    }
    push(integers, begin, end);
    begin = end;
  }
}

void IntegerRuns::append(std::span<const int64_t> integers, std::string &out) {
  find_runs(integers);
  int64_t before = 0;
  for (const Run &run : runs_) {
    const auto bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(minus(run.maximum, run.minimum))));
    put_varint(out, (run.end - run.begin) << 1 | (bits > 0 ? 1u : 0u));
    put_varint(out, zigzag(minus(run.minimum, before)));
    before = run.minimum;
    if (bits == 0) continue;
    out += static_cast<char>(bits);
    BitWriter writer(out);
    for (size_t i = run.begin; i < run.end; ++i) writer.put(static_cast<uint64_t>(minus(integers[i], run.minimum)), bits);
    writer.flush();
  }
}

bool read_integer_runs(std::string_view bytes, std::span<uint64_t> out) {
  ByteReader reader(bytes);
  uint64_t base = 0;
  while (!out.empty()) {
    const uint64_t head = reader.varint(), count = head >> 1;
    base += static_cast<uint64_t>(reader.signed_varint());
    if (!reader.is_ok() || count == 0 || count > out.size()) return false;
    const auto run = out.first(static_cast<size_t>(count));
    out = out.subspan(run.size());
    if ((head & 1) == 0) {
      std::fill(run.begin(), run.end(), base);
      continue;
    }
    const uint8_t bits = reader.byte();
    if (bits == 0 || bits > kMaxRunBits) return false;
    const std::string_view packed = reader.take((run.size() * bits + 7) / 8);
    if (!reader.is_ok()) return false;
    unpack(packed, bits, base, run);
  }
  return reader.at_end();
}

}  // namespace atalaya::store
