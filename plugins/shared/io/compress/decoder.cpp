// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/compress/decoder.h"

#include <strings.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <new>

namespace atalaya::io {
namespace {

constexpr size_t kFirstRoom = 65536;
constexpr size_t kKeptRoom = size_t{8} << 20;  // bytes of memory that are kept between bodies; more is freed

bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

std::optional<Encoding> encoding_from_name(std::string_view name) {
  if (name.empty() || same(name, "identity")) return Encoding::identity;
  if (same(name, "gzip") || same(name, "x-gzip")) return Encoding::gzip;
  if (same(name, "deflate")) return Encoding::deflate;
  if (same(name, "zstd")) return Encoding::zstd;
  return std::nullopt;
}

struct Decoder::State {
  z_stream zlib{};
  bool zlib_ready = false;
  ZSTD_DCtx *zstd = nullptr;

  ~State() {
    if (zlib_ready) inflateEnd(&zlib);
    ZSTD_freeDCtx(zstd);
  }
};

Decoder::Decoder() : state_(std::make_unique<State>()) {}
Decoder::~Decoder() = default;

// Extends the output buffer after `used` bytes to at most the limit + 1 byte, which is enough to detect an excess.
void Decoder::grow(size_t used, size_t limit) {
  if (used < buffer_.size()) return;
  buffer_.resize(std::min(limit + 1, std::max(kFirstRoom, 2 * used)));
}

Decoder::Result Decoder::decode(Encoding encoding, std::string_view body, size_t limit, size_t padding, std::string_view &out) {
  out = {};
  if (buffer_.size() > kKeptRoom) std::vector<char>().swap(buffer_);
  size_t used = 0;
  Result result = Result::complete;
  switch (encoding) {
    case Encoding::identity:
      if (body.size() > limit) return Result::too_large;
      used = body.size();
      if (buffer_.size() < used) buffer_.resize(used);
      std::copy(body.begin(), body.end(), buffer_.begin());
      break;
    case Encoding::gzip:
    case Encoding::deflate:
      result = inflate(encoding, body, limit, used);
      break;
    case Encoding::zstd:
      result = unzstd(body, limit, used);
      break;
  }
  if (result != Result::complete) return result;
  if (buffer_.size() < used + padding) buffer_.resize(used + padding);
  out = {buffer_.data(), used};
  return result;
}

Decoder::Result Decoder::inflate(Encoding encoding, std::string_view body, size_t limit, size_t &used) {
  constexpr int kWindow = 15, kGzip = 16;
  z_stream &stream = state_->zlib;
  const int bits = encoding == Encoding::gzip ? kWindow + kGzip : kWindow;
  const int ready = state_->zlib_ready ? inflateReset2(&stream, bits) : inflateInit2(&stream, bits);
  if (ready != Z_OK) throw std::bad_alloc();
  state_->zlib_ready = true;
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(body.data()));
  stream.avail_in = static_cast<uInt>(body.size());
  for (;;) {
    grow(used, limit);
    const size_t room = std::min<size_t>(buffer_.size() - used, uInt{1} << 30);
    stream.next_out = reinterpret_cast<Bytef *>(buffer_.data() + used);
    stream.avail_out = static_cast<uInt>(room);
    const int code = ::inflate(&stream, Z_NO_FLUSH);
    used += room - stream.avail_out;
    if (used > limit) return Result::too_large;
    if (code == Z_STREAM_END) {
      if (stream.avail_in == 0) break;
      // A gzip file may have several members.
      if (encoding != Encoding::gzip || inflateReset2(&stream, bits) != Z_OK) return Result::corrupt;
    } else if (code != Z_OK) {
      return Result::corrupt;  // Z_BUF_ERROR: the input is truncated
    }
  }
  return Result::complete;
}

Decoder::Result Decoder::unzstd(std::string_view body, size_t limit, size_t &used) {
  // Limits the window to 8 MiB, which every decoder must support and which is enough for metrics.
  constexpr int kMaxWindowLog = 23;
  if (state_->zstd == nullptr) {
    state_->zstd = ZSTD_createDCtx();
    if (state_->zstd == nullptr) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(state_->zstd, ZSTD_d_windowLogMax, kMaxWindowLog);
  }
  ZSTD_DCtx_reset(state_->zstd, ZSTD_reset_session_only);
  ZSTD_inBuffer in{body.data(), body.size(), 0};
  for (;;) {
    grow(used, limit);
    ZSTD_outBuffer to{buffer_.data(), buffer_.size(), used};
    const size_t before = in.pos;
    const size_t left = ZSTD_decompressStream(state_->zstd, &to, &in);
    if (ZSTD_isError(left) != 0) return Result::corrupt;
    const bool stuck = to.pos == used && in.pos == before && to.pos < to.size;
    used = to.pos;
    if (used > limit) return Result::too_large;
    if (left == 0 && in.pos == in.size) break;
    if (stuck) return Result::corrupt;  // the input is truncated
  }
  return Result::complete;
}

}  // namespace atalaya::io
