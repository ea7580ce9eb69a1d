// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/phases/mining/repeats.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace atalaya::phases {
namespace {

using Text = std::vector<uint32_t>;

// The definition, in cubic time.
uint32_t longest_at(const Text &text, size_t i) {
  size_t best = 0;
  for (size_t j = 0; j < i; ++j) {
    size_t length = 0;
    while (j + length < i && i + length < text.size() && text[j + length] == text[i + length]) ++length;
    best = std::max(best, length);
  }
  return static_cast<uint32_t>(best);
}

Text random_text(std::mt19937 &random, size_t length, uint32_t letters, uint32_t scale) {
  std::uniform_int_distribution<uint32_t> letter(0, letters - 1);
  Text text;
  // Pieces of itself, so that there are long repeats.
  while (text.size() < length) {
    if (text.size() > 4 && random() % 3 == 0) {
      const size_t begin = random() % text.size(), size = 1 + random() % (text.size() - begin);
      for (size_t i = 0; i < size; ++i) text.push_back(text[begin + i]);
    } else {
      text.push_back(letter(random) * scale);
    }
  }
  text.resize(length);
  return text;
}

TEST_CASE("the longest repeats are those of the definition, and their sources are real") {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    // Numbers of one to four bytes.
    const uint32_t scale = std::vector<uint32_t>{1, 300, 70'000, 20'000'000}[static_cast<size_t>(round) % 4];
    const Text text = random_text(random, 1 + random() % 120, static_cast<uint32_t>(1 + random() % 6), scale);
    const auto repeats = longest_repeats(text);
    REQUIRE(repeats.size() == text.size());
    for (size_t i = 0; i < text.size(); ++i) {
      CAPTURE(i);
      REQUIRE(repeats[i].length == longest_at(text, i));
      REQUIRE(repeats[i].source + repeats[i].length <= i);
      const auto at = [&](size_t begin) { return text.begin() + static_cast<std::ptrdiff_t>(begin); };
      REQUIRE(std::equal(at(repeats[i].source), at(repeats[i].source + repeats[i].length), at(i)));
    }
  }
}

TEST_CASE("the suffix array is sorted and has the lengths of common prefixes") {
  std::mt19937 random(8);
  for (int round = 0; round < 100; ++round) {
    const Text text = random_text(random, 1 + random() % 200, static_cast<uint32_t>(1 + random() % 5), round % 2 == 0 ? 1 : 1000);
    const auto order = suffix_array(text);
    const auto prefixes = common_prefixes(text, order);
    std::vector<int32_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < text.size(); ++i) REQUIRE(sorted[i] == static_cast<int32_t>(i));
    for (size_t i = 1; i < text.size(); ++i) {
      const Text a(text.begin() + order[i - 1], text.end()), b(text.begin() + order[i], text.end());
      REQUIRE(a < b);
      const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
      REQUIRE(prefixes[i] == differ.first - a.begin());
    }
  }
}

TEST_CASE("runs have their period, and cover what repeats") {
  Text text;
  const auto add = [&](std::initializer_list<uint32_t> root, int times) {
    for (int i = 0; i < times; ++i) text.insert(text.end(), root);
  };
  add({1}, 20);
  add({2, 3}, 15);
  add({4, 5, 6}, 1);
  add({7, 8, 7, 9}, 6);
  add({1}, 30);
  const auto runs = exact_runs(text, 8, 64);
  REQUIRE(runs.size() == 4);
  CHECK(runs[0] == Run{0, 20, 1});
  CHECK(runs[1] == Run{20, 50, 2});
  CHECK(runs[2] == Run{53, 77, 4});
  CHECK(runs[3] == Run{77, 107, 1});
}

TEST_CASE("a part of a run that repeats elsewhere is a run there too") {
  Text text;
  for (int round = 0; round < 3; ++round) {
    text.insert(text.end(), 40, 1);
    text.insert(text.end(), 25, 2);
  }
  const auto runs = exact_runs(text, 8, 64);
  REQUIRE(runs.size() == 6);
  for (size_t i = 0; i < runs.size(); ++i) {
    CHECK(runs[i].begin == i / 2 * 65 + (i % 2 == 0 ? 0 : 40));
    CHECK(runs[i].end - runs[i].begin == (i % 2 == 0 ? 40 : 25));
    CHECK(runs[i].period == 1);
  }
}

TEST_CASE("texts without repeats, of one number, and empty ones") {
  CHECK(longest_repeats({}).empty());
  CHECK(exact_runs({}, 5, 64).empty());
  const Text one{3};
  CHECK(longest_repeats(one)[0].length == 0);
  const Text different{1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (const Repeat &repeat : longest_repeats(different)) CHECK(repeat.length == 0);
  CHECK(exact_runs(different, 5, 64).empty());
}

}  // namespace
}  // namespace atalaya::phases
