// SPDX-License-Identifier: Apache-2.0
// The codecs of Spark's event logs, piece by piece: zstd, and the block forms of its LZ4, Snappy and LZF streams.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace atalaya::hadoop {

class Inflater {
 public:
  virtual ~Inflater() = default;
  // Takes the stream's next bytes; appends what they decode to. What is not complete yet waits. False: they are damaged, and `why`
  // says how; what was decoded before is in `out`. Nothing may follow.
  virtual bool feed(std::string_view bytes, std::string &out, std::string &why) = 0;
  // Bytes that wait for those behind them.
  virtual size_t waiting() const = 0;
};

inline constexpr size_t kMagicSize = 8;

// By the stream's first bytes, kMagicSize of them if there are so many; null: it is not compressed.
std::unique_ptr<Inflater> make_inflater(std::string_view first);

}  // namespace atalaya::hadoop
