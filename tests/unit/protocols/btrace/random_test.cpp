// SPDX-License-Identifier: Apache-2.0
// Random output of BTrace's print functions and random phase lines; the generator computes the samples by a model of its own.
#include "tests/unit/protocols/random.h"
#include "tests/unit/protocols/btrace/line_bench.h"
#include "tests/unit/rounds.h"

namespace atalaya::testing {
namespace {

using protocols::testing::Random;

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  Lines lines, expected;

  void form() {
    switch (random_.below(7)) {
      case 0:
        return number();
      case 1:
        return map();
      case 2:
        return table();
      case 3:
        return distribution();
      case 4:
        return fields();
      case 5:
        return array();
      default:
        return phase();
    }
  }
  Random &random() { return random_; }

 private:
  std::string name() { return random_.text("abc", 1) + random_.text("xyz.", 4) + "q"; }
  std::string value() { return std::to_string(static_cast<int64_t>(random_.below(uint64_t{1} << random_.between(1, 62)))); }
  void add(const std::string &tags, const std::string &metric, const std::string &number) {
    expected.push_back(tags + "btrace." + metric + "=" + number + "i");
  }
  void number() {
    const std::string key = name(), one = value();
    lines.push_back(key + " = " + one);
    add("", key, one);
    lines.emplace_back();
  }
  void map() {
    const std::string heading = name();
    lines.push_back(heading);
    for (uint64_t i = random_.between(1, 3); i > 0; --i) {
      const std::string key = name(), one = value();
      if (random_.one_of(4)) lines.push_back(key + " = text");
      lines.push_back(key + " = " + one);
      add("[key=" + key + "] ", heading, one);
    }
    lines.emplace_back();  // else a number is an entry of the map
  }
  void table() {
    const std::string heading = name();
    lines.push_back(heading);
    for (uint64_t i = random_.between(1, 3); i > 0; --i) {
      const std::string key = name(), one = value();
      lines.push_back("  " + key + random_.blanks(1, 9) + " b" + random_.blanks(1, 9) + one);
      add("[key=" + key + " b] ", heading, one);
    }
    lines.emplace_back();
  }
  void distribution() {
    const std::string heading = name(), key = name();
    lines.push_back(heading);
    lines.push_back("  " + key);
    lines.push_back("\t          value  ------------- Distribution ------------- count");
    for (uint64_t i = random_.between(1, 4); i > 0; --i) {
      const std::string bucket = std::to_string(static_cast<int64_t>(random_.below(2000)) - 1), one = value();
      lines.push_back("\t" + random_.blanks(0, 9) + bucket + " |" + std::string(random_.below(40), '@') + random_.blanks(1, 9) +
                      one);
      add("[key=" + key + " bucket=" + bucket + "] ", heading, one);
    }
    lines.emplace_back();
  }
  void fields() {
    std::string line = "{", all;
    for (uint64_t i = random_.between(1, 4); i > 0; --i) {
      const std::string key = name(), one = value();
      line += random_.one_of(3) ? key + "=text, " : "";
      line += key + "=" + one + ", ";
      all += (all.empty() ? "btrace." : " btrace.") + key + "=" + one + "i";
    }
    lines.push_back(line + "}");
    expected.push_back(all);
  }
  void array() {
    std::string line = "[";
    for (uint64_t i = 0, size = random_.between(1, 4); i < size; ++i) {
      const std::string one = random_.one_of(3) ? "x" : value();
      line += one + ", ";
      if (one != "x") add("[index=" + std::to_string(i) + "] ", "array", one);
    }
    lines.push_back(line + "]");
  }
  // The begin and the end of a phase, whose order among other lines is free.
  void phase() {
    const std::string id = "t" + std::to_string(phases_++);
    const int64_t start = 1'700'000'000'000 + static_cast<int64_t>(random_.below(1'000'000)),
                  length = static_cast<int64_t>(random_.below(100'000));
    lines.push_back("atalaya begin phase task=" + id + " phase=spill time=" + std::to_string(start));
    const std::string bytes = value();
    lines.push_back((random_.one_of(2) ? "INFO x: " : "") + std::string("atalaya end phase phase=spill task=") + id +
                    " time=" + std::to_string(start + length) + " bytes=" + bytes);
    expected.push_back("span phase " + std::to_string(start) + "000000+" + (length == 0 ? "0" : std::to_string(length) + "000000") +
                       " [task=" + id + " phase=spill] span.bytes=" + bytes + "i");
  }

  Random random_;
  int phases_ = 0;
};

}  // namespace

TEST_CASE("btrace: random forms and phase lines, read at once and with a restart at any line") {
  for (uint32_t seed = 0; seed < test::rounds(4000); ++seed) {
    Generator generator(seed);
    for (uint64_t i = generator.random().between(1, 6); i > 0; --i) generator.form();
    const Lines &lines = generator.lines;
    LineBench bench;
    CAPTURE(seed);
    REQUIRE(bench.read(lines) == generator.expected);
    LineBench again;
    const auto cut = static_cast<ptrdiff_t>(generator.random().below(lines.size() + 1));
    Lines read = again.read({lines.begin(), lines.begin() + cut});
    again.restart(again.reader->state({{.id = {1, 1}}}));
    for (const std::string &line : again.read({lines.begin() + cut, lines.end()})) read.push_back(line);
    REQUIRE(read == generator.expected);
  }
}

TEST_CASE("btrace: mutated lines leave the next number as it is") {
  for (uint32_t seed = 0; seed < test::rounds(4000); ++seed) {
    Generator generator(seed);
    for (uint64_t i = generator.random().between(1, 4); i > 0; --i) generator.form();
    Random &random = generator.random();
    for (std::string &line : generator.lines) {
      if (line.empty() || random.one_of(2)) continue;
      const uint64_t at = random.below(line.size());
      if (random.one_of(2))
        line.erase(at, random.between(1, 3));
      else
        line[at] = random.pick(std::string_view("={}[],|\t !1a\0\xff", 14));
    }
    generator.lines.emplace_back();
    generator.lines.emplace_back("----");
    generator.lines.emplace_back("after = 7");
    LineBench bench;
    const Lines read = bench.read(generator.lines);
    CAPTURE(seed);
    REQUIRE_FALSE(read.empty());
    REQUIRE(read.back() == "btrace.after=7i");
  }
}

}  // namespace atalaya::testing
