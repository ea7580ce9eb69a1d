// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/compress/compressor.h"

#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace atalaya::io {
namespace {

class None final : public Compressor {
 public:
  std::string_view encoding() const override { return {}; }
  void compress(std::span<const std::string_view> pieces, std::string &out) override {
    out.clear();
    for (const std::string_view piece : pieces) out += piece;
  }
};

class Gzip final : public Compressor {
 public:
  explicit Gzip(int level) {
    static constexpr int kWindow = 15 + 16;  // 15: largest window; 16: with the header of gzip
    static constexpr int kMemory = 9;
    if (deflateInit2(&stream_, std::clamp(level, 1, 9), Z_DEFLATED, kWindow, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  Gzip(const Gzip &) = delete;
  Gzip &operator=(const Gzip &) = delete;
  ~Gzip() override { deflateEnd(&stream_); }

  std::string_view encoding() const override { return "gzip"; }
  void compress(std::span<const std::string_view> pieces, std::string &out) override {
    deflateReset(&stream_);
    size_t size = 0;
    for (const std::string_view piece : pieces) size += piece.size();
    if (size > std::numeric_limits<uInt>::max() / 2) throw std::length_error("a request of more than 2 GiB");
    out.resize(deflateBound(&stream_, size));
    stream_.next_out = reinterpret_cast<Bytef *>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    for (const std::string_view piece : pieces) feed(piece, Z_NO_FLUSH);
    feed({}, Z_FINISH);
    out.resize(stream_.total_out);
  }

 private:
  void feed(std::string_view piece, int flush) {
    // zlib only reads the input; its interface predates const.
    stream_.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(piece.data()));
    stream_.avail_in = static_cast<uInt>(piece.size());
    deflate(&stream_, flush);
  }
  z_stream stream_{};
};

class Zstd final : public Compressor {
 public:
  explicit Zstd(int level) : context_(ZSTD_createCCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
    ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, std::clamp(level, 1, ZSTD_maxCLevel()));
  }
  Zstd(const Zstd &) = delete;
  Zstd &operator=(const Zstd &) = delete;
  ~Zstd() override { ZSTD_freeCCtx(context_); }

  std::string_view encoding() const override { return "zstd"; }
  void compress(std::span<const std::string_view> pieces, std::string &out) override {
    size_t size = 0;
    for (const std::string_view piece : pieces) size += piece.size();
    ZSTD_CCtx_reset(context_, ZSTD_reset_session_only);
    ZSTD_CCtx_setPledgedSrcSize(context_, size);
    out.resize(ZSTD_compressBound(size));
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    for (size_t i = 0; i < pieces.size(); ++i) {
      ZSTD_inBuffer from{pieces[i].data(), pieces[i].size(), 0};
      const size_t left = ZSTD_compressStream2(context_, &to, &from, i + 1 == pieces.size() ? ZSTD_e_end : ZSTD_e_continue);
      if (ZSTD_isError(left) != 0) throw std::runtime_error(std::string("zstd: ") + ZSTD_getErrorName(left));
    }
    out.resize(to.pos);
  }

 private:
  ZSTD_CCtx *context_;
};

// Snappy in the block format, which Prometheus requires. It has no levels.
class Snappy final : public Compressor {
 public:
  std::string_view encoding() const override { return "snappy"; }
  void compress(std::span<const std::string_view> pieces, std::string &out) override {
    is_complete_.clear();
    for (const std::string_view piece : pieces) is_complete_ += piece;
    size_t size = snappy_max_compressed_length(is_complete_.size());
    out.resize(size);
    if (snappy_compress(is_complete_.data(), is_complete_.size(), out.data(), &size) != SNAPPY_OK)
      throw std::length_error("a request that is too large for snappy");
    out.resize(size);
  }

 private:
  std::string is_complete_;
};

}  // namespace

std::unique_ptr<Compressor> make_compressor(std::string_view method, int level) {
  if (method == "gzip") return std::make_unique<Gzip>(level);
  if (method == "zstd") return std::make_unique<Zstd>(level);
  if (method == "snappy") return std::make_unique<Snappy>();
  return std::make_unique<None>();
}

}  // namespace atalaya::io
