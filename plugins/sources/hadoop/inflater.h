// SPDX-License-Identifier: Apache-2.0
// The codecs of Spark's event logs, piece by piece: zstd, and the block forms of its LZ4, Snappy and LZF streams.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace atalaya::hadoop {

class Inflater {
 public:
  virtual ~Inflater() = default;
  // Takes a piece of what was decoded, up to kMaxDecoded of it. False: no more is wanted.
  using Take = std::function<bool(std::string_view)>;
  // Takes the stream's next bytes; gives what they decode to, piece by piece: little may become much. What is not complete yet
  // waits. False: they are damaged, and `why` says how, or `take` wants no more; nothing may follow.
  virtual bool feed(std::string_view bytes, const Take &take, std::string &why) = 0;
  // Bytes that wait for those behind them.
  virtual size_t waiting() const = 0;
};

inline constexpr size_t kMagicSize = 8;
inline constexpr size_t kMaxDecoded = size_t{1} << 20;

// By the stream's first bytes, kMagicSize of them if there are so many; null: it is not compressed.
std::unique_ptr<Inflater> make_inflater(std::string_view first);

}  // namespace atalaya::hadoop
