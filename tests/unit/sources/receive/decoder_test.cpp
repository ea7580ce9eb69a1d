// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/compress/decoder.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <string>

namespace atalaya::receive {
namespace {

constexpr size_t kPadding = 64;

std::string compressed(const std::string &text, int bits) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, 0);
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}
std::string gzip(const std::string &text) {
  return compressed(text, 15 + 16);
}

}  // namespace

TEST_CASE("receive: bodies come back as they were, however often the decoder was used") {
  io::Decoder decoder;
  std::string_view out;
  for (const size_t size : {0u, 1u, 70000u, 5u, 300000u, 100u}) {
    std::string text;
    for (size_t i = 0; i < size; ++i) text += static_cast<char>(i * i % 251);
    CHECK(decoder.decode(io::Encoding::gzip, gzip(text), 1 << 20, kPadding, out) == io::Decoder::Result::complete);
    CHECK(out == text);
    CHECK(decoder.decode(io::Encoding::deflate, compressed(text, 15), 1 << 20, kPadding, out) == io::Decoder::Result::complete);
    CHECK(out == text);
    CHECK(decoder.decode(io::Encoding::identity, text, 1 << 20, kPadding, out) == io::Decoder::Result::complete);
    CHECK(out == text);
  }
  CHECK(decoder.decode(io::Encoding::gzip, gzip("one") + gzip("two"), 100, kPadding, out) == io::Decoder::Result::complete);
  CHECK(out == "onetwo");
}

TEST_CASE("receive: a body that grows beyond the limit is refused, at the limit it is not") {
  io::Decoder decoder;
  std::string_view out;
  const std::string bomb = gzip(std::string(4'000'000, ' '));
  CHECK(bomb.size() < 10'000);
  CHECK(decoder.decode(io::Encoding::gzip, bomb, 1'000'000, kPadding, out) == io::Decoder::Result::too_large);
  CHECK(out.empty());
  CHECK(decoder.decode(io::Encoding::gzip, gzip(std::string(1000, 'x')), 1000, kPadding, out) == io::Decoder::Result::complete);
  CHECK(decoder.decode(io::Encoding::gzip, gzip(std::string(1001, 'x')), 1000, kPadding, out) == io::Decoder::Result::too_large);
  CHECK(decoder.decode(io::Encoding::identity, std::string(1001, 'x'), 1000, kPadding, out) == io::Decoder::Result::too_large);
}

TEST_CASE("receive: input that is cut off, damaged or followed by something else is corrupt") {
  io::Decoder decoder;
  std::string_view out;
  const std::string whole = gzip("some text that is long enough to be cut in the middle of it");
  for (size_t size = 0; size < whole.size(); ++size)
    CHECK(decoder.decode(io::Encoding::gzip, whole.substr(0, size), 1000, kPadding, out) == io::Decoder::Result::corrupt);
  std::string damaged = whole;
  damaged[20] = static_cast<char>(damaged[20] ^ 0x40);
  CHECK(decoder.decode(io::Encoding::gzip, damaged, 1000, kPadding, out) == io::Decoder::Result::corrupt);
  CHECK(decoder.decode(io::Encoding::gzip, whole + "tail", 1000, kPadding, out) == io::Decoder::Result::corrupt);
  CHECK(decoder.decode(io::Encoding::zstd, "not zstd", 1000, kPadding, out) == io::Decoder::Result::corrupt);
  CHECK(decoder.decode(io::Encoding::zstd, "", 1000, kPadding, out) == io::Decoder::Result::corrupt);
}

TEST_CASE("receive: names of encodings") {
  CHECK(io::encoding_from_name("") == io::Encoding::identity);
  CHECK(io::encoding_from_name("GZIP") == io::Encoding::gzip);
  CHECK(io::encoding_from_name("zstd") == io::Encoding::zstd);
  CHECK_FALSE(io::encoding_from_name("br").has_value());
}

}  // namespace atalaya::receive
