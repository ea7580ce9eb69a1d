// SPDX-License-Identifier: Apache-2.0
// Random documents of the line protocol. The generator knows which records it wrote, and shares no code with the reader.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/unit/protocols/influx/influx_text.h"
#include "tests/unit/protocols/random.h"
#include "tests/unit/rounds.h"

namespace atalaya::protocols::testing {
namespace {

constexpr std::string_view kCharacters = "abz0_.-/\"'#:;,= \\\xc3\xa9";

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  std::string body;
  Lines expected;
  uint64_t refused = 0;

  void document() {
    for (uint64_t i = random_.between(1, 8); i > 0; --i) {
      switch (random_.below(6)) {
        case 0:
          body += random_.blanks(0, 2) + (random_.one_of(2) ? "# comment a=\"1" : "");
          break;
        case 1:
          broken();
          break;
        default:
          line();
      }
      body += random_.one_of(4) ? "\r\n" : "\n";
    }
  }

 private:
  struct Word {
    std::string plain, written;
  };

  // A word whose special characters are escaped. A backslash at its end would escape the character behind the word.
  Word word(std::string_view special) {
    Word word{random_.text(kCharacters, 6), ""};
    while (word.plain.back() == '\\') word.plain += 'x';
    for (const char c : word.plain) {
      if (special.find(c) != std::string_view::npos) word.written += '\\';
      word.written += c;
    }
    return word;
  }

  Word measurement() {
    Word found = word(", ");
    while (found.plain.front() == '#') found = word(", ");
    return found;
  }

  Word number() {
    switch (random_.below(5)) {
      case 0: {
        const std::string digits = (random_.one_of(2) ? "-" : "") + std::to_string(random_.between(1, 1'000'000));
        return {digits + "i", digits + "i"};
      }
      case 1:
        return {"12i", "12u"};
      case 2:
        return random_.one_of(2) ? Word{"1i", random_.pick(std::vector<std::string>{"t", "T", "true", "True", "TRUE"})}
                                 : Word{"0i", random_.pick(std::vector<std::string>{"f", "F", "false", "False", "FALSE"})};
      case 3: {
        const std::string whole = std::to_string(random_.below(1000));
        return {whole + ".5", (random_.one_of(2) ? "+" : "") + whole + ".50"};
      }
      default:
        return {"2500", random_.pick(std::vector<std::string>{"2500", "2500.", "2.5e3", "25E+2"})};
    }
  }

  std::string text_value() {
    std::string out = "\"";
    for (const char c : random_.text("ab,= \n\"\\#\t", 10)) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    return out + '"';
  }

  void line() {
    const Word name = measurement();
    std::string text = random_.blanks(0, 2) + name.written;
    std::string tags;
    for (uint64_t i = random_.below(4); i > 0; --i) {
      const Word key = word(",= ");
      const Word value = word(",= ");
      text += "," + key.written + "=" + value.written;
      tags += (tags.empty() ? "" : ",") + key.plain + "=" + value.plain;
    }
    text += random_.blanks(1, 3) + (random_.one_of(8) ? "\t" : "");
    const bool timed = !random_.one_of(4);
    const std::string time = timed ? std::to_string(random_.between(1, 1ULL << 60)) : std::to_string(kNow);
    const uint64_t fields = random_.between(1, 4);
    const uint64_t numeric = random_.below(fields);  // at least this one is a number
    for (uint64_t i = 0; i < fields; ++i) {
      const Word key = word(",= ");
      text += (i > 0 ? "," : "") + key.written + "=";
      if (i != numeric && random_.one_of(3)) {
        text += text_value();
        continue;
      }
      const Word value = number();
      text += value.written;
      expected.push_back((key.plain == "value" ? name.plain : name.plain + "." + key.plain) + "{" + tags + "} " + value.plain +
                         " @" + time);
    }
    if (timed) text += random_.blanks(1, 3) + time;
    body += text + random_.blanks(0, 2);
  }

  // A line that breaks one rule.
  void broken() {
    ++refused;
    const std::string name = "m,t=1";
    body += random_.pick(std::vector<std::string>{",t=1 v=1 5",      name,
                                                  name + " ",        name + " v",
                                                  name + " v=",      name + " v=1,",
                                                  name + " =1",      name + " v=1 5 6",
                                                  name + " v=1 x",   name + ", v=1",
                                                  name + ",k v=1",   name + ",k= v=1",
                                                  name + ",=x v=1",  name + " v=\"x\" 5",
                                                  name + " v=1i2",   name + " v=1 0",
                                                  "m\tm v=1",        name + " v=1,t=\"x\"y",
                                                  "\"m v=\"x y\" 5", name + " v=\"x\"\"y\""});
  }

  Random random_;
};

}  // namespace

TEST_CASE("influx: random documents arrive record by record, and broken lines are counted") {
  for (uint32_t seed = 0; seed < test::rounds(4000); ++seed) {
    Generator generator(seed);
    generator.document();
    const InfluxResult result = read_influx(generator.body);
    CAPTURE(seed);
    CAPTURE(generator.body);
    REQUIRE(result.lines == generator.expected);
    REQUIRE(result.account.failed == generator.refused);
  }
}

TEST_CASE("influx: a mutated line leaves its neighbours as they are") {
  Random random(7);
  const std::string before = "before,k=\"1 v=1 1\n", after = "\nafter v=2 2\n";
  for (uint32_t round = 0; round < test::rounds(4000); ++round) {
    Generator generator(round);
    generator.document();
    std::string line = generator.body.substr(0, generator.body.find('\n'));
    for (uint64_t i = random.between(1, 3); i > 0 && !line.empty(); --i) {
      const uint64_t at = random.below(line.size());
      if (random.one_of(2))
        line.erase(at, 1);
      else
        line[at] = random.pick(std::string_view("\"\\,= \tx1\r#\0\xff", 12));
    }
    // A text that the line begins may end behind the neighbour only with another quote.
    const InfluxResult result = read_influx(before + line + after);
    CAPTURE(line);
    REQUIRE(result.lines.size() >= 2);
    REQUIRE(result.lines.front() == "before.v{k=\"1} 1 @1");
    REQUIRE(result.lines.back() == "after.v{} 2 @2");
    REQUIRE(result.account.failed <= 1);
  }
}

}  // namespace atalaya::protocols::testing
