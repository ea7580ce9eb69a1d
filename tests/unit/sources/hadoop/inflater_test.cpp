// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/sparklog/inflater.h"

#include <doctest/doctest.h>
#include <lz4.h>
#include <snappy.h>
#include <zstd.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "plugins/sources/hadoop/model/history.h"

namespace atalaya::hadoop {
namespace {

using namespace std::string_literals;

std::string sample() {
  std::string text;
  for (int i = 0; text.size() < 200'000; ++i) text += "line " + std::to_string(i * 7919) + " of a log\n";
  return text;
}

void put_little(std::string &out, size_t value) {
  for (int i = 0; i < 4; ++i) out += static_cast<char>(value >> (8 * i));
}
void put_big(std::string &out, size_t value, int bytes) {
  for (int i = bytes; i-- > 0;) out += static_cast<char>(value >> (8 * i));
}

std::string zstd(const std::string &text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}
std::string lz4_block(const std::string &text) {
  std::string packed(static_cast<size_t>(LZ4_compressBound(static_cast<int>(text.size()))), '\0');
  packed.resize(static_cast<size_t>(
      LZ4_compress_default(text.data(), packed.data(), static_cast<int>(text.size()), static_cast<int>(packed.size()))));
  std::string out = "LZ4Block\x25";
  put_little(out, packed.size());
  put_little(out, text.size());
  put_little(out, 12345);
  return out + packed;
}
std::string lz4_end() {
  return "LZ4Block\x15" + std::string(12, '\0');
}
std::string snappy_stream(const std::string &text) {
  std::string out = "\x82SNAPPY\0\0\0\0\1\0\0\0\1"s, packed;
  snappy::Compress(text.data(), text.size(), &packed);
  put_big(out, packed.size(), 4);
  return out + packed;
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
  const auto inflater = protocols::make_inflater(std::string_view(packed).substr(0, protocols::kMagicSize));
  REQUIRE(inflater);
  const auto take = [&](std::string_view text) {
    CHECK(text.size() <= protocols::kMaxDecoded);
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
  CHECK(protocols::make_inflater(packed)->feed(packed, [&](std::string_view) { return ++pieces < 3; }));
  CHECK(pieces == 3);
}

TEST_CASE("history: few bytes that become many spans are handed on between") {
  const std::string begin = R"({"Event":"SparkListenerApplicationStart","App Name":"n","App ID":"app-1","Timestamp":100})"
                            "\n";
  const std::string stage =
      R"({"Event":"SparkListenerStageCompleted","Stage Info":{"Stage ID":1,"Submission Time":200,"Completion Time":300}})"
      "\n";
  std::string text = begin;
  while (text.size() < size_t{8} << 20) text += stage;
  const size_t stages = (text.size() - begin.size()) / stage.size();
  const Rules rules;
  for (const std::string &packed : {zstd(text), lz4_block(text)}) {
    History history(rules, "x");
    protocols::Spans spans;
    size_t given = 0, most = 0;
    CHECK(history.feed(packed, spans, [&] {
      most = std::max(most, spans.size());
      given += spans.size();
      spans.clear();
      return true;
    }));
    CHECK(given == stages);
    CHECK(most < stages / 4);
  }
}

TEST_CASE("codecs: text is not compressed") {
  for (const char *text : {"Avro-Json", "{\"Event\":", "Meta VER", ""}) CHECK(protocols::make_inflater(text) == nullptr);
}

}  // namespace
}  // namespace atalaya::hadoop
