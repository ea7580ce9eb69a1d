// SPDX-License-Identifier: Apache-2.0
// Decompresses untrusted bodies within limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace atalaya::io {

enum class Encoding : uint8_t { identity, gzip, deflate, zstd };
// Parses the header Content-Encoding, case-insensitively; nothing if unknown.
std::optional<Encoding> encoding_from_name(std::string_view name);

// For one thread; reusable, so that it rarely allocates.
class Decoder {
 public:
  enum class Result { whole, corrupt, too_large };

  Decoder();
  ~Decoder();
  Decoder(const Decoder &) = delete;
  Decoder &operator=(const Decoder &) = delete;

  // `out` becomes the plain body of at most `limit` bytes, followed by `padding` readable bytes; valid until the next call.
  Result decode(Encoding encoding, std::string_view body, size_t limit, size_t padding, std::string_view &out);

 private:
  Result inflate(Encoding encoding, std::string_view body, size_t limit, size_t &used);
  Result unzstd(std::string_view body, size_t limit, size_t &used);
  void make_room(size_t used, size_t limit);

  struct State;
  std::unique_ptr<State> state_;
  std::vector<char> room_;  // a buffer used up to its size; kept between calls to avoid clearing it again
};

}  // namespace atalaya::io
