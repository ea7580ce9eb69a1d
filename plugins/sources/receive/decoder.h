// SPDX-License-Identifier: Apache-2.0
// Compressed bodies of strangers, undone within bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace atalaya::receive {

enum class Encoding : uint8_t { identity, gzip, deflate, zstd };
// Of the header Content-Encoding; nothing for one that is not known. Case does not matter.
std::optional<Encoding> encoding_from_name(std::string_view name);

// For one thread; reused, so that it allocates little in steady state.
class Decoder {
 public:
  enum class Result { whole, corrupt, too_large };

  Decoder();
  ~Decoder();
  Decoder(const Decoder &) = delete;
  Decoder &operator=(const Decoder &) = delete;

  // `out` becomes the plain body, of `limit` bytes at most, with `padding` readable bytes behind it; valid until the next call.
  Result decode(Encoding encoding, std::string_view body, size_t limit, size_t padding, std::string_view &out);

 private:
  Result inflate(Encoding encoding, std::string_view body, size_t limit, size_t &used);
  Result unzstd(std::string_view body, size_t limit, size_t &used);
  void make_room(size_t used, size_t limit);

  struct State;
  std::unique_ptr<State> state_;
  std::vector<char> room_;  // its size is the room, kept between calls so that none is cleared again
};

}  // namespace atalaya::receive
