// SPDX-License-Identifier: Apache-2.0
// Random windows of statsd. The generator computes what it wrote with a model of its own.
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/protocols/random.h"
#include "tests/unit/protocols/statsd/statsd_text.h"
#include "tests/unit/rounds.h"

namespace atalaya::protocols::testing {
namespace {

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  std::vector<std::string> datagrams;
  uint64_t accepted = 0, refused = 0;

  void window() {
    for (uint64_t i = random_.between(1, 6); i > 0; --i) {
      std::string datagram;
      for (uint64_t k = random_.between(1, 4); k > 0; --k) datagram += line() + (random_.one_of(4) ? "\r\n" : "\n");
      if (random_.one_of(2)) datagram.pop_back();
      datagrams.push_back(datagram);
    }
  }

  Lines expected() const {
    Lines lines;
    for (const auto &[name, values] : values_) {
      const auto &[metric, tags] = name;
      double sum = 0;
      for (const auto &[value, weight] : values) sum += value * weight;
      if (metric[0] == 'c') lines.push_back(metric + tags + " " + real_text(sum));
      if (metric[0] == 'g') lines.push_back(metric + tags + " " + real_text(gauges_.at(name)));
      if (metric[0] != 't') continue;
      double count = 0, smallest = values[0].first, largest = values[0].first;
      for (const auto &[value, weight] : values) {
        count += weight;
        smallest = std::min(smallest, value);
        largest = std::max(largest, value);
      }
      lines.push_back(metric + ".count" + tags + " " + real_text(count));
      lines.push_back(metric + ".sum" + tags + " " + real_text(sum));
      lines.push_back(metric + ".min" + tags + " " + real_text(smallest));
      lines.push_back(metric + ".max" + tags + " " + real_text(largest));
    }
    for (const auto &[name, members] : sets_)
      lines.push_back(name.first + name.second + " " + real_text(static_cast<double>(members.size())));
    std::sort(lines.begin(), lines.end());
    return lines;
  }

 private:
  using Name = std::pair<std::string, std::string>;  // with its tags as the reader lists them

  std::string line() {
    if (random_.one_of(6)) {
      ++refused;
      return random_.pick(std::vector<std::string>{"x", ":1|c", "x:1", "x:1|", "x:1|z", "x:|c", "x:a|g", "x:1|c|@2", "x:1|c|@",
                                                   "x:inf|h", "x:1e999|c", "x:0x10|c"});
    }
    const char kind = random_.pick(std::string_view("cgts"));
    const std::string name = kind + std::to_string(random_.below(3)) + random_.pick(std::vector<std::string>{"", ".a", "-b c/d"});
    const auto [tags, shown] = random_tags();
    std::string text = name;
    // The form of statsd repeats the type, that of DogStatsD does not. Tags are only in the latter.
    if (kind != 's' && tags.empty() && random_.one_of(3)) {
      for (uint64_t i = random_.between(1, 4); i > 0; --i) {
        const auto [rate, weight] = random_rate(kind);
        text += ":" + value(kind, {name, shown}, weight) + "|" + type(kind) + rate;
      }
      return text;
    }
    const auto [rate, weight] = random_rate(kind);
    for (uint64_t i = kind == 's' ? 1 : random_.between(1, 4); i > 0; --i) text += ":" + value(kind, {name, shown}, weight);
    std::vector<std::string> sections;
    if (!rate.empty()) sections.push_back(rate);
    if (!tags.empty()) sections.push_back("|#" + tags);
    if (random_.one_of(4)) sections.push_back("|c:ci-1:2");
    if (random_.one_of(2)) std::reverse(sections.begin(), sections.end());
    text += "|" + type(kind);
    for (const std::string &section : sections) text += section;
    return text;
  }

  std::string type(char kind) {
    if (kind == 't') return random_.pick(std::vector<std::string>{"ms", "h", "d"});
    return std::string(1, kind);
  }

  std::pair<std::string, double> random_rate(char kind) {
    if (kind == 'g' || kind == 's' || random_.one_of(2)) return {"", 1};
    return random_.one_of(2) ? std::pair<std::string, double>{"|@0.5", 2} : std::pair<std::string, double>{"|@.25", 4};
  }

  // Written in random order, shown in sorted order.
  std::pair<std::string, std::string> random_tags() {
    std::set<std::string> chosen;
    for (uint64_t i = random_.below(4); i > 0; --i)
      chosen.insert(random_.pick(std::vector<std::string>{"a:1", "b:x:y", "c", "d:é"}));
    std::vector<std::string> order(chosen.begin(), chosen.end());
    if (random_.one_of(2)) std::reverse(order.begin(), order.end());
    std::string written, shown;
    for (const std::string &tag : order) written += (written.empty() ? "" : ",") + tag;
    for (const std::string &tag : chosen) {
      const size_t colon = tag.find(':');
      shown +=
          (shown.empty() ? "" : ",") + tag.substr(0, colon) + "=" + (colon == std::string::npos ? "true" : tag.substr(colon + 1));
    }
    return {written, "{" + shown + "}"};
  }

  // Multiples of a quarter: their sums are exact in every order.
  std::string value(char kind, const Name &name, double weight) {
    ++accepted;
    if (kind == 's') {
      const std::string member = random_.text("ab:@#", 3);
      sets_[name].insert(member);
      return member;
    }
    const double number = static_cast<double>(random_.between(1, 4000)) / 4;
    std::string text = real_text(number);
    if (kind != 'g') {
      const bool negative = random_.one_of(5);
      values_[name].emplace_back(negative ? -number : number, weight);
      return negative ? "-" + text : text;
    }
    values_[name];
    double &gauge = gauges_[name];
    const uint64_t sign = random_.below(4);
    gauge = sign == 0 ? gauge + number : sign == 1 ? gauge - number : number;
    return (sign == 0 ? "+" : sign == 1 ? "-" : "") + text;
  }

  Random random_;
  std::map<Name, std::vector<std::pair<double, double>>> values_;  // of counters and timers, with their weights
  std::map<Name, double> gauges_;
  std::map<Name, std::set<std::string>> sets_;
};

}  // namespace

TEST_CASE("statsd: random windows have the values that were sent, and refused lines are counted") {
  for (uint32_t seed = 0; seed < test::rounds(4000); ++seed) {
    Generator generator(seed);
    generator.window();
    const StatsdResult result = read_statsd(generator.datagrams);
    CAPTURE(seed);
    REQUIRE(result.lines == generator.expected());
    REQUIRE(result.accepted == generator.accepted);
    REQUIRE(result.refused() == generator.refused);
  }
}

TEST_CASE("statsd: a mutated line leaves its neighbours as they are") {
  Random random(7);
  for (uint32_t round = 0; round < test::rounds(4000); ++round) {
    Generator generator(round);
    generator.window();
    std::string line = generator.datagrams.front().substr(0, generator.datagrams.front().find('\n'));
    for (uint64_t i = random.between(1, 3); i > 0 && !line.empty(); --i) {
      const uint64_t at = random.below(line.size());
      if (random.one_of(2))
        line.erase(at, 1);
      else
        line[at] = random.pick(std::string_view(":|@#,.-+1x\0\xff", 12));
    }
    const Lines lines = read_statsd({"before:1|c\n" + line + "\nzafter:2|c"}).lines;
    CAPTURE(line);
    REQUIRE(std::count(lines.begin(), lines.end(), "before{} 1") == 1);
    REQUIRE(std::count(lines.begin(), lines.end(), "zafter{} 2") == 1);
  }
}

}  // namespace atalaya::protocols::testing
