// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/compress/compressor.h"

#include <doctest/doctest.h>
#include <zlib.h>
#include <zstd.h>

using namespace atalaya;
using namespace atalaya::io;

namespace {

std::string gunzip(const std::string &bytes, size_t size) {
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK);
  std::string text(size + 1, '\0');
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef *>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}
std::string unzstd(const std::string &bytes, size_t size) {
  std::string text(size + 1, '\0');
  text.resize(ZSTD_decompress(text.data(), text.size(), bytes.data(), bytes.size()));
  return text;
}

}  // namespace

TEST_CASE("http: bodies decompress to the same, for pieces of any size, repeatedly") {
  std::string large;
  for (int i = 0; i < 100'000; ++i) large += std::to_string(i * 7919 % 10007);
  for (const std::string &middle : {std::string(), std::string("x"), large}) {
    const std::string_view pieces[] = {"[", middle, "]"};
    const std::string whole = "[" + middle + "]";
    std::string out;
    for (const int level : {1, 3, 19}) {
      const auto gzip = io::make_compressor("gzip", level);
      const auto zstd = io::make_compressor("zstd", level);
      for (int i = 0; i < 2; ++i) {
        gzip->compress(pieces, out);
        CHECK(gunzip(out, whole.size()) == whole);
        zstd->compress(pieces, out);
        CHECK(unzstd(out, whole.size()) == whole);
      }
    }
    io::make_compressor("none", 1)->compress(pieces, out);
    CHECK(out == whole);
  }
}
