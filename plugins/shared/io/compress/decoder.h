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

// Decompresses one body at a time. A reused decoder rarely allocates. One thread.
class Decoder {
 public:
  enum class Result { complete, corrupt, too_large };

  Decoder();
  ~Decoder();
  Decoder(const Decoder &) = delete;
  Decoder &operator=(const Decoder &) = delete;

  // Sets `out` to the decoded body of at most `limit` bytes, followed by `padding` readable bytes. Valid until the next call.
  Result decode(Encoding encoding, std::string_view body, size_t limit, size_t padding, std::string_view &out);

 private:
  Result inflate(Encoding encoding, std::string_view body, size_t limit, size_t &used);
  Result unzstd(std::string_view body, size_t limit, size_t &used);
  void grow(size_t used, size_t limit);

  struct State;
  std::unique_ptr<State> state_;
  std::vector<char> buffer_;  // retained between calls, so that it is not cleared again
};

}  // namespace atalaya::io
