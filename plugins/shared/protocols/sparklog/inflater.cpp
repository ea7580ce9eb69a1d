// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/sparklog/inflater.h"

#include <lz4.h>
#include <snappy.h>
#include <zstd.h>

#include <algorithm>
#include <new>
#include <vector>

namespace atalaya::protocols {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd"sv;
constexpr std::string_view kLz4Magic = "LZ4Block"sv;
constexpr std::string_view kSnappyMagic = "\x82SNAPPY\0"sv;
constexpr std::string_view kLzfMagic = "ZV"sv;
constexpr size_t kMaxBlock = size_t{64} << 20;  // LZ4's stream allows 32 MiB
constexpr int kMaxWindowLog = 27;
// Protects against decompression bombs: rejects data packed more tightly than any log of Spark. The first bytes, and single blocks,
// are allowed to exceed the ratio.
constexpr uint64_t kMaxRatio = 500;
constexpr uint64_t kUnsuspicious = uint64_t{16} << 20;
constexpr uint64_t kMaxSaved = uint64_t{64} << 20;

uint32_t little(std::string_view at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value |= static_cast<uint32_t>(static_cast<uint8_t>(at[i])) << (8 * i);
  return value;
}
uint32_t big(std::string_view at, size_t size) {
  uint32_t value = 0;
  for (size_t i = 0; i < size; ++i) value = value << 8 | static_cast<uint8_t>(at[i]);
  return value;
}

// Limits the output by the size of the input.
class Bounded : public Inflater {
 public:
  core::Status feed(std::string_view bytes, const Callback &take) final {
    allowed_ = std::min(allowed_, kMaxSaved) + kMaxRatio * bytes.size();
    return decode(bytes, take);
  }

 protected:
  // Counts `size` more bytes of output. False: beyond the limit.
  bool allow(uint64_t size) {
    if (size > allowed_) return false;
    allowed_ -= size;
    return true;
  }
  static core::Error too_large() {
    return {"the decompressed size exceeds " + std::to_string(kMaxRatio) + " times the compressed size"};
  }
  virtual core::Status decode(std::string_view bytes, const Callback &take) = 0;

 private:
  uint64_t allowed_ = kUnsuspicious;
};

class Zstd final : public Bounded {
 public:
  Zstd() : context_(ZSTD_createDCtx()) {
    if (!context_) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kMaxWindowLog);
  }
  size_t waiting() const override { return inside_ ? 1 : 0; }

 private:
  struct Free {
    void operator()(ZSTD_DCtx *context) const { ZSTD_freeDCtx(context); }
  };
  core::Status decode(std::string_view bytes, const Callback &take) override {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    buffer_.resize(ZSTD_DStreamOutSize());
    for (bool full = true; in.pos < in.size || full;) {
      ZSTD_outBuffer piece{buffer_.data(), buffer_.size(), 0};
      const size_t result = ZSTD_decompressStream(context_.get(), &piece, &in);
      if (!allow(piece.pos)) return too_large();
      if (!take({buffer_.data(), piece.pos})) break;
      if (ZSTD_isError(result) != 0) return core::Error{"the zstd data is damaged: " + std::string(ZSTD_getErrorName(result))};
      inside_ = result != 0;
      full = piece.pos == piece.size && inside_;
    }
    return core::Done{};
  }

  std::unique_ptr<ZSTD_DCtx, Free> context_;
  std::vector<char> buffer_;
  bool inside_ = false;
};

// Streams of blocks, each after a header with its size.
class Blocks : public Bounded {
 public:
  size_t waiting() const override { return pending_.size(); }

 protected:
  struct Block {
    size_t header = 0;  // 0: incomplete
    size_t size = 0, decoded = 0;
    bool plain = false;  // stored uncompressed
  };
  // False: not a header of this codec.
  virtual bool header(std::string_view bytes, Block &out) const = 0;
  virtual bool unpack(std::string_view packed, char *to, size_t size) const = 0;
  virtual const char *name() const = 0;
  // Snappy stores the decoded size only in the block.
  virtual bool decoded_size(std::string_view, Block &) const { return true; }

 private:
  core::Status decode(std::string_view bytes, const Callback &take) override {
    pending_ += bytes;
    size_t at = 0;
    core::Status status = core::Done{};
    for (bool wanted = true; wanted && status;) {
      const std::string_view rest = std::string_view(pending_).substr(at);
      Block block;
      if (!header(rest, block) || block.size > kMaxBlock || block.decoded > kMaxBlock) status = damaged();
      if (!status || block.header == 0 || rest.size() - block.header < block.size) break;
      std::string_view text = rest.substr(block.header, block.size);
      status = decode_block(block, text);
      for (; status && wanted && !text.empty(); text.remove_prefix(std::min(text.size(), kMaxDecoded)))
        wanted = take(text.substr(0, kMaxDecoded));
      at += block.header + block.size;
    }
    pending_.erase(0, at);
    return status;
  }
  // Replaces `text` by its decoded form.
  core::Status decode_block(Block &block, std::string_view &text) {
    if (block.plain) block.decoded = text.size();
    if (!block.plain && (!decoded_size(text, block) || block.decoded > kMaxBlock)) return damaged();
    if (!allow(block.decoded)) return too_large();
    if (block.plain) return core::Done{};
    decoded_.resize(block.decoded);
    if (!unpack(text, decoded_.data(), block.decoded)) return damaged();
    text = decoded_;
    return core::Done{};
  }
  core::Error damaged() const { return {"the " + std::string(name()) + " data is damaged"}; }

  std::string pending_, decoded_;
};

// lz4-java's LZ4BlockOutputStream: magic, method and level, sizes and a checksum of the text; an empty block ends a stream,
// and another may follow. The checksum is ignored: the decoder checks sizes, and lines are parsed as JSON.
class Lz4 final : public Blocks {
  bool header(std::string_view bytes, Block &out) const override {
    constexpr size_t kSize = 21;
    if (!bytes.starts_with(kLz4Magic.substr(0, std::min(bytes.size(), kLz4Magic.size())))) return false;
    if (bytes.size() < kSize) return true;
    const unsigned method = static_cast<uint8_t>(bytes[8]) & 0xf0u;
    out = {kSize, little(bytes.substr(9)), little(bytes.substr(13)), method == 0x10};
    return (method == 0x10 && out.size == out.decoded) || method == 0x20;
  }
  bool unpack(std::string_view packed, char *to, size_t size) const override {
    return LZ4_decompress_safe(packed.data(), to, static_cast<int>(packed.size()), static_cast<int>(size)) ==
           static_cast<int>(size);
  }
  const char *name() const override { return "LZ4"; }
};

// snappy-java's SnappyOutputStream: a header with two version numbers, then sizes and raw blocks; another header may follow.
class Snappy final : public Blocks {
  bool header(std::string_view bytes, Block &out) const override {
    if (bytes.size() >= 4 && bytes.starts_with(kSnappyMagic.substr(0, 4))) {
      constexpr size_t kSize = 16;
      if (bytes.size() >= kSize) out = {kSize, 0, 0, true};
      return bytes.starts_with(kSnappyMagic.substr(0, std::min(bytes.size(), kSnappyMagic.size())));
    }
    if (bytes.size() >= 4) out = {4, big(bytes, 4), 0, false};
    return true;
  }
  bool decoded_size(std::string_view packed, Block &block) const override {
    return snappy::GetUncompressedLength(packed.data(), packed.size(), &block.decoded);
  }
  bool unpack(std::string_view packed, char *to, size_t) const override {
    return snappy::RawUncompress(packed.data(), packed.size(), to);
  }
  const char *name() const override { return "Snappy"; }
};

// compress-lzf's chunks: "ZV", a flag for compression, sizes of two bytes.
class Lzf final : public Blocks {
  bool header(std::string_view bytes, Block &out) const override {
    if (!bytes.starts_with(kLzfMagic.substr(0, std::min(bytes.size(), kLzfMagic.size())))) return false;
    if (bytes.size() < 5) return true;
    if (bytes[2] == 0) {
      out = {5, big(bytes.substr(3), 2), 0, true};
    } else if (bytes[2] != 1) {
      return false;
    } else if (bytes.size() >= 7) {
      out = {7, big(bytes.substr(3), 2), big(bytes.substr(5), 2), false};
    }
    return true;
  }
  // A control byte n below 32: n + 1 literal bytes follow. Otherwise a copy of earlier output: three bits of length and
  // thirteen of distance; a length of seven continues in the next byte.
  bool unpack(std::string_view packed, char *to, size_t size) const override {
    size_t in = 0, out = 0;
    while (in < packed.size()) {
      const auto control = static_cast<uint8_t>(packed[in++]);
      if (control < 32) {
        const size_t run = control + size_t{1};
        if (packed.size() - in < run || size - out < run) return false;
        std::copy_n(packed.data() + in, run, to + out);
        in += run;
        out += run;
        continue;
      }
      size_t length = control >> 5;
      if (length == 7) {
        if (in >= packed.size()) return false;
        length += static_cast<uint8_t>(packed[in++]);
      }
      length += 2;
      if (in >= packed.size()) return false;
      const size_t distance = (static_cast<size_t>(control & 31) << 8 | static_cast<uint8_t>(packed[in++])) + 1;
      if (distance > out || size - out < length) return false;
      for (size_t i = 0; i < length; ++i, ++out) to[out] = to[out - distance];  // source and destination may overlap
    }
    return out == size;
  }
  const char *name() const override { return "LZF"; }
};

}  // namespace

std::unique_ptr<Inflater> make_inflater(std::string_view first) {
  if (first.starts_with(kZstdMagic)) return std::make_unique<Zstd>();
  if (first.starts_with(kLz4Magic)) return std::make_unique<Lz4>();
  if (first.starts_with(kSnappyMagic)) return std::make_unique<Snappy>();
  if (first.starts_with(kLzfMagic)) return std::make_unique<Lzf>();
  return nullptr;
}

}  // namespace atalaya::protocols
