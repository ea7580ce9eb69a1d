// SPDX-License-Identifier: Apache-2.0
#include "core/base/text/safe_text.h"

#include <doctest/doctest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/base/text/json.h"
#include "core/base/text/json_writer.h"
#include "core/base/text/text.h"
#include "tests/unit/core/sample/json_check.h"

using namespace atalaya::core;

namespace {
std::string json(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}
std::string number(void (*append)(std::string &, double), double value) {
  std::string out;
  append(out, value);
  return out;
}
}  // namespace

TEST_CASE("code points: valid sequences are read, overlong ones, surrogates and torn ones are not") {
  CHECK(first_code_point("a").value == U'a');
  CHECK(first_code_point("\xc3\xb1x").value == 0xf1);
  CHECK(first_code_point("\xe2\x82\xac").value == 0x20ac);
  CHECK(first_code_point("\xf0\x9f\x98\x80").value == 0x1f600);
  for (const char *bad : {"\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
                          "\xe2\x82", "\xf0\x9f\x98", "\xff", "\xc3("})
    CHECK(first_code_point(bad).size == 0);
}

TEST_CASE("a name cannot act on a terminal or forge a line") {
  CHECK(visible("plain ñ €") == "plain ñ €");
  CHECK(visible("a\nb\x1b[31m\x7f") == "a\\x0ab\\x1b[31m\\x7f");
  CHECK(visible(std::string_view("\0", 1)) == "\\x00");
  CHECK(visible("\xc2\x9b") == "\\u{9b}");
  CHECK(visible("user\xe2\x80\xaegnp.exe") == "user\\u{202e}gnp.exe");
  CHECK(visible("a\xff") == "a\xef\xbf\xbd");
}

TEST_CASE("width: combining marks take none, East Asian characters two columns") {
  CHECK(display_width("abc") == 3);
  CHECK(display_width("ñandú") == 5);
  CHECK(display_width("n\xcc\x83") == 1);
  CHECK(display_width("東京") == 4);
  CHECK(cut_to_width("abcdef", 6) == "abcdef");
  CHECK(cut_to_width("abcdefg", 6) == "abcde…");
  CHECK(cut_to_width("東京都", 5) == "東京…");
  CHECK(cut_to_width("東京都", 4) == "東…");
  CHECK(cut_to_width("abc", 0).empty());
}

TEST_CASE("JSON strings are valid for any bytes") {
  CHECK(json("a \"b\" \\ c") == R"("a \"b\" \\ c")");
  CHECK(json("tab\tline\n\r\x01\x7f") == R"("tab\tline\n\r\u0001\u007f")");
  CHECK(json("ñ€😀") == "\"ñ€😀\"");
  CHECK(json("a\xff\xc3") == "\"a\xef\xbf\xbd\xef\xbf\xbd\"");
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const char bytes[] = {static_cast<char>(first), static_cast<char>(second), 'z'};
      const std::string text = json({bytes, sizeof(bytes)});
      REQUIRE_MESSAGE(testing::JsonCheck::valid(text), "bytes " << first << " " << second);
    }
  }
}

// The standard library is the oracle.
TEST_CASE("for any number, the text is the shortest one that reads back") {
  std::mt19937_64 random(75);
  const auto check = [](double value) {
    char text[32];
    REQUIRE(number(append_number, value) == std::string(text, std::to_chars(text, text + sizeof(text), value).ptr));
  };
  for (int i = 0; i < 20'000; ++i) {
    const double range = std::pow(10, static_cast<double>(random() % 9));
    const double tens = std::pow(10, static_cast<double>(random() % 6));
    const double value = std::round(static_cast<double>(random() % 1'000'000) / 1e6 * range * tens) / tens;
    for (const double one : {value, std::nextafter(value, 0.0), std::nextafter(value, 1e300), std::round(value)}) {
      check(one);
      check(-one);
    }
    const double any = std::bit_cast<double>(random());
    if (std::isfinite(any)) check(any);
  }
}

TEST_CASE("numbers: shortest, real, and with two decimals") {
  CHECK(number(append_number, 99.4) == "99.4");
  CHECK(number(append_number, 0.1 + 0.2) == "0.30000000000000004");
  CHECK(number(append_number, 5) == "5");
  CHECK(number(append_real, 5) == "5.0");
  CHECK(number(append_real, -0.0) == "-0.0");
  CHECK(number(append_real, 1e300) == "1e+300");
  CHECK(number(append_number, -0.05) == "-0.05");
  CHECK(number(append_number, 100000) == "1e+05");
  CHECK(number(append_two_decimals, 99.4) == "99.40");
  CHECK(number(append_two_decimals, 0.005) == "0.01");
  CHECK(number(append_two_decimals, 1.7976931348623157e308).size() == 312);
}

TEST_CASE("parts of a text") {
  std::string_view text = "a;;b";
  CHECK(cut_at(text, ';') == "a");
  CHECK(cut_at(text, ';').empty());
  CHECK(text == "b");
  CHECK(cut_at(text, ';') == "b");
  CHECK(text.empty());
  CHECK(split("a,,b,", ',') == std::vector<std::string_view>{"a", "", "b", ""});
  CHECK(split("", ',') == std::vector<std::string_view>{""});
  CHECK(joined(std::vector<std::string>{"a", "a", ""}) == "a, a, ");
  CHECK(joined(std::set<std::string>{}).empty());
  CHECK(line_after("Uid:\t1\nGid:\t2", "Gid:") == "\t2");
  CHECK(line_after("XGid:\t2\n", "Gid:").empty());
  CHECK(lower("AZaz09\xc3\x84") == "azaz09\xc3\x84");
}

TEST_CASE("a number is the whole text") {
  CHECK(number_from<int>("-12") == -12);
  CHECK(number_from<uint64_t>("1f", 16) == 31);
  CHECK(number_from<double>("1e3") == 1000);
  for (const char *text : {"", " 1", "1 ", "+1", "1x", "99999999999"}) CHECK(!number_from<int>(text));
  CHECK(!number_from<double>("1e3", std::chars_format::fixed));
  CHECK(is_digits("09"));
  CHECK(!is_digits(""));
  CHECK(!is_digits("1."));
}

TEST_CASE("the JSON writer adds commas and new lines") {
  JsonWriter json;
  json.object().key("a").list().line().integer(1).line().number(NAN).end_list().key(-7).real(2).line().key("b");
  CHECK(json.members(std::map<std::string, std::string>{{"k", "[\n"}}).end_object().take() ==
        "{\"a\":[1,\nnull],\"-7\":2.0,\n\"b\":{\"k\":\"[\\n\"}}");
  std::string out = "1";
  JsonWriter(out).texts(std::vector<std::string>{"a", "b"}).object().end_object().raw("0");
  CHECK(out == "1[\"a\",\"b\"],{},0");
}
