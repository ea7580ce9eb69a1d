// SPDX-License-Identifier: Apache-2.0
// Text in the codecs of Spark's event logs, by the libraries of the codecs.
#pragma once

#include <lz4.h>
#include <snappy.h>
#include <zstd.h>

#include <string>

namespace atalaya::protocols::testing {

using namespace std::string_literals;

inline void put_little(std::string &out, size_t value) {
  for (int i = 0; i < 4; ++i) out += static_cast<char>(value >> (8 * i));
}
inline void put_big(std::string &out, size_t value, int bytes) {
  for (int i = bytes; i-- > 0;) out += static_cast<char>(value >> (8 * i));
}

inline std::string zstd(const std::string &text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}
inline std::string lz4_block(const std::string &text) {
  std::string packed(static_cast<size_t>(LZ4_compressBound(static_cast<int>(text.size()))), '\0');
  packed.resize(static_cast<size_t>(
      LZ4_compress_default(text.data(), packed.data(), static_cast<int>(text.size()), static_cast<int>(packed.size()))));
  std::string out = "LZ4Block\x25";
  put_little(out, packed.size());
  put_little(out, text.size());
  put_little(out, 12345);
  return out + packed;
}
inline std::string lz4_end() {
  return "LZ4Block\x15" + std::string(12, '\0');
}
inline std::string snappy_stream(const std::string &text) {
  std::string out = "\x82SNAPPY\0\0\0\0\1\0\0\0\1"s, packed;
  snappy::Compress(text.data(), text.size(), &packed);
  put_big(out, packed.size(), 4);
  return out + packed;
}
}  // namespace atalaya::protocols::testing
