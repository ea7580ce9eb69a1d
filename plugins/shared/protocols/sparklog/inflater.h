// SPDX-License-Identifier: Apache-2.0
// Streaming decoders for the codecs of Spark's event logs: zstd, and the block formats of its LZ4, Snappy and LZF streams.
// Source: RFC 8878; LZ4BlockOutputStream of lz4-java 1.8; SnappyOutputStream of snappy-java 1.1; LZFChunk of compress-lzf 1.1.
//   LZ4     "LZ4Block", METHOD and level (1 byte: 0x1. stored, 0x2. packed), size packed, size, checksum (32 bits each,
//           little-endian), bytes; a block of size 0 ends a stream, and another may follow
//   Snappy  0x82 "SNAPPY" 0, two versions (32 bits each); blocks: size (32 bits, big-endian), raw Snappy
//   LZF     "ZV", 0 stored: size | 1 packed: size packed, size (16 bits each, big-endian), bytes
// Checksums are ignored: the decoders check sizes, and lines are parsed as JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace atalaya::protocols {

class Inflater {
 public:
  virtual ~Inflater() = default;
  // Receives a decoded piece of at most kMaxDecoded bytes; returns false to stop.
  using Callback = std::function<bool(std::string_view)>;
  // Decodes the next bytes of the stream in pieces. Incomplete data waits for further bytes. Do not call it again after an error
  // (damaged data), or after `take` has returned false.
  virtual core::Status feed(std::string_view bytes, const Callback &take) = 0;
  // Number of bytes that are not decoded yet, because their block is incomplete.
  virtual size_t waiting() const = 0;
};

inline constexpr size_t kMagicSize = 8;
inline constexpr size_t kMaxDecoded = size_t{1} << 20;

// Selects the decoder by the stream's first kMagicSize bytes; null: not compressed.
std::unique_ptr<Inflater> make_inflater(std::string_view first);

}  // namespace atalaya::protocols
