// SPDX-License-Identifier: Apache-2.0
// Each rule of the codecs of Spark's event logs, and streams that the libraries of Spark wrote.
#include "plugins/shared/protocols/sparklog/inflater.h"

#include "tests/unit/protocols/random.h"
#include "tests/unit/protocols/records.h"
#include "tests/unit/protocols/sparklog/codecs.h"
#include "tests/unit/rounds.h"

namespace atalaya::protocols::testing {
namespace {

using namespace std::string_literals;

std::string sample() {
  std::string text;
  for (int i = 0; text.size() < 200'000; ++i) text += "line " + std::to_string(i * 7919) + " of a log\n";
  return text;
}

// A packed chunk: ten letters, then a copy of them that overlaps itself.
std::string lzf_chunk() {
  const std::string packed = "\x09"s + "abcdefghij" + "\xe0\x0b\x09";
  std::string out = "ZV\1";
  put_big(out, packed.size(), 2);
  put_big(out, 30, 2);
  return out + packed;
}

struct Result {
  bool good = true;
  std::string text, why;
  size_t waiting = 0;
};
Result inflate(const std::string &packed, size_t piece) {
  Result result;
  const auto inflater = make_inflater(std::string_view(packed).substr(0, kMagicSize));
  REQUIRE(inflater);
  const auto take = [&](std::string_view text) {
    CHECK(text.size() <= kMaxDecoded);
    result.text += text;
    return true;
  };
  for (size_t at = 0; at < packed.size() && result.good; at += piece) {
    const core::Status fed = inflater->feed(std::string_view(packed).substr(at, piece), take);
    result.good = fed.ok();
    if (!fed) result.why = fed.error();
  }
  result.waiting = inflater->waiting();
  return result;
}

TEST_CASE("codecs: whole, in pieces, one stream after the other") {
  const std::string text = sample(), half = text.substr(0, 70'000), rest = text.substr(70'000);
  for (const std::string &packed :
       {zstd(text), zstd(half) + zstd(rest), lz4_block(half) + lz4_block(rest) + lz4_end(),
        lz4_block(half) + lz4_end() + lz4_block(rest), snappy_stream(text), snappy_stream(half) + snappy_stream(rest)}) {
    for (const size_t piece : {size_t{1}, size_t{1000}, packed.size()}) {
      const Result result = inflate(packed, piece);
      CHECK(result.good);
      CHECK(result.text == text);
      CHECK(result.waiting == 0);
    }
  }
  CHECK(inflate(lzf_chunk() + "ZV\0\0\2"s + "xy" + lzf_chunk(), 1).text ==
        "abcdefghijabcdefghijabcdefghijxyabcdefghijabcdefghijabcdefghij");
}

TEST_CASE("codecs: incomplete input waits; output before it is returned") {
  const std::string text = sample();
  for (const std::string &packed : {zstd(text), lz4_block(text), snappy_stream(text), lzf_chunk()}) {
    const Result result = inflate(packed.substr(0, packed.size() - 3), 100);
    CHECK(result.good);
    CHECK(result.waiting > 0);
  }
  CHECK(inflate(lz4_block("whole") + lz4_block(text).substr(0, 1000), 64).text == "whole");
}

TEST_CASE("codecs: damage is reported and ends the reading") {
  const std::string text = sample();
  const auto damage = [](std::string packed, size_t at, char byte) {
    packed[at] = byte;
    const Result result = inflate(packed, 100);
    CHECK_FALSE(result.good);
    return result.why;
  };
  CHECK(damage(zstd(text), 5, '\xff').starts_with("the zstd data is damaged: "));
  CHECK(damage(lz4_block("one") + lz4_block(text), lz4_block("one").size(), 'X') == "the LZ4 data is damaged");
  CHECK(damage(lz4_block(text), 8, '\x35') == "the LZ4 data is damaged");
  CHECK(damage(lz4_block(text), 12, '\x7f') == "the LZ4 data is damaged");  // a block of 2 GiB
  CHECK(damage(lz4_block(text), 13, 'x') == "the LZ4 data is damaged");     // another size than the text's
  CHECK(damage(snappy_stream(text), 16, '\x7f') == "the Snappy data is damaged");
  CHECK(damage(snappy_stream(text), 22, '\xff') == "the Snappy data is damaged");
  CHECK(damage(lzf_chunk(), 2, '\2') == "the LZF data is damaged");
  CHECK(damage(lzf_chunk(), 7, '\x1f') == "the LZF data is damaged");   // letters beyond the chunk
  CHECK(damage(lzf_chunk(), 20, '\x60') == "the LZF data is damaged");  // a copy from before the beginning
}

TEST_CASE("codecs: output that grows beyond the limit is refused") {
  const Result result = inflate(zstd(std::string(size_t{64} << 20, 'a')), 4096);
  CHECK_FALSE(result.good);
  CHECK(result.why == "the decompressed size exceeds 500 times the compressed size");
  CHECK(result.text.size() < size_t{19} << 20);
}

// Harmless data before it does not make it harmless.
TEST_CASE("codecs: output that grows beyond the limit behind harmless data is refused, and is never in memory as a whole") {
  std::string harmless;
  for (uint32_t i = 1; harmless.size() < size_t{8} << 20; i = i * 1664525 + 1013904223) put_big(harmless, i, 4);
  const std::string bomb(size_t{256} << 20, 'a');
  const Result result = inflate(zstd(harmless) + zstd(bomb), size_t{1} << 16);
  CHECK_FALSE(result.good);
  CHECK(result.why == "the decompressed size exceeds 500 times the compressed size");
  CHECK(result.text.size() < harmless.size() + (size_t{100} << 20));
}

TEST_CASE("codecs: nothing is decoded that is not wanted") {
  const std::string packed = zstd(std::string(size_t{8} << 20, 'a'));
  size_t pieces = 0;
  CHECK(make_inflater(packed)->feed(packed, [&](std::string_view) { return ++pieces < 3; }));
  CHECK(pieces == 3);
}

TEST_CASE("codecs: text is not compressed") {
  for (const char *text : {"Avro-Json", "{\"Event\":", "Meta VER", ""}) CHECK(make_inflater(text) == nullptr);
}

TEST_CASE("codecs: streams of the libraries that Spark uses, in pieces of any size") {
  const std::string text = fixture("sparklog/log.txt");
  for (const char *codec : {"lz4", "snappy", "lzf", "zstd"})
    for (const size_t piece : {size_t{1}, size_t{7}, size_t{4096}}) {
      const Result result = inflate(fixture(std::string("sparklog/log.") + codec), piece);
      CAPTURE(codec);
      CHECK(result.why == "");
      CHECK((result.text == text));
      CHECK(result.waiting == 0);
    }
}

TEST_CASE("codecs: a mutated stream is refused, waits or has a bounded text") {
  for (const char *codec : {"lz4", "snappy", "lzf", "zstd"}) {
    const std::string whole = fixture(std::string("sparklog/log.") + codec);
    for (uint32_t seed = 0; seed < test::rounds(1500); ++seed) {
      Random random(seed);
      std::string packed = whole;
      for (uint64_t i = random.between(1, 4); i > 0; --i) {
        const uint64_t at = random.between(kMagicSize, packed.size() - 1);
        if (random.one_of(3))
          packed.erase(at, random.between(1, 30));
        else
          packed[at] = static_cast<char>(random.below(256));
        if (packed.size() <= kMagicSize) break;
      }
      const Result result = inflate(packed, random.between(1, 2000));
      REQUIRE(result.good == result.why.empty());
      REQUIRE(result.waiting <= packed.size());
    }
  }
}

}  // namespace
}  // namespace atalaya::protocols::testing
