// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/query/arithmetic/formula.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "core/base/text/text.h"
#include "plugins/shared/store/query/windows/collected.h"

namespace atalaya::query {
namespace {

using Keys = std::vector<std::string>;

constexpr int kMaxDepth = 64;
constexpr size_t kMaxAnswers = 100'000;

// A number, or a list of answers.
struct Operand {
  bool number = false;
  double value = 0;
  std::vector<Answer> answers;
};

// NaN without a value.
double calculate(char sign, double left, double right) {
  switch (sign) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    default:
      return right == 0 ? std::nan("") : left / right;
  }
}

void put(std::vector<Point> &points, int64_t time_ns, double value) {
  if (std::isfinite(value)) points.push_back({time_ns, value});
}

// Groups of several metrics meet by the tags that they are grouped by; a tag that all series of one of them share by chance, such
// as a pid, does not count. Without keys: by all tags.
bool meet(const Tags &left, const Tags &right, const Keys *keys) {
  return std::all_of(left.begin(), left.end(), [&](const auto &tag) {
    if (keys != nullptr && std::find(keys->begin(), keys->end(), tag.first) == keys->end()) return true;
    const auto other = right.find(tag.first);
    return other == right.end() || other->second == tag.second;
  });
}

Answer combined(char sign, const Answer &left, const Answer &right) {
  Answer result;
  result.tags = left.tags;
  result.tags.insert(right.tags.begin(), right.tags.end());
  std::erase_if(result.tags, [&](const auto &tag) {
    const auto other = right.tags.find(tag.first);
    if (other == right.tags.end() || other->second == tag.second) return false;
    result.aggregated_tags.push_back(tag.first);
    return true;
  });
  add_partly(left, result);
  add_partly(right, result);
  std::set<std::string> keys(left.aggregated_tags.begin(), left.aggregated_tags.end());
  keys.insert(right.aggregated_tags.begin(), right.aggregated_tags.end());
  for (const std::string &key : keys)
    if (result.tags.count(key) == 0) result.aggregated_tags.push_back(key);
  std::sort(result.aggregated_tags.begin(), result.aggregated_tags.end());
  result.aggregated_tags.erase(std::unique(result.aggregated_tags.begin(), result.aggregated_tags.end()),
                               result.aggregated_tags.end());
  auto other = right.points.begin();
  for (const Point &point : left.points) {
    while (other != right.points.end() && other->time_ns < point.time_ns) ++other;
    if (other == right.points.end()) break;
    if (other->time_ns == point.time_ns) put(result.points, point.time_ns, calculate(sign, point.value, other->value));
  }
  return result;
}

Answer with_number(char sign, const Answer &answer, double number, bool has_numbers_left) {
  Answer result = answer;
  result.points.clear();
  result.counts.clear();
  for (const Point &point : answer.points)
    put(result.points, point.time_ns,
        has_numbers_left ? calculate(sign, number, point.value) : calculate(sign, point.value, number));
  return result;
}

size_t size_of(const std::vector<Answer> &answers) {
  size_t size = 0;
  for (const Answer &answer : answers) size += points_of(answer);
  return size;
}

void keep(Answer &&answer, std::vector<Answer> &answers, Budget &budget) {
  budget.reserve(points_of(answer));
  budget.work(answer.points.size());
  answers.push_back(std::move(answer));
}

// Takes both operands: their points are no longer held.
Operand apply(char sign, const Operand &left, const Operand &right, const Keys *keys, Budget &budget) {
  Operand result;
  if (left.number && right.number) return {true, calculate(sign, left.value, right.value), {}};
  if (left.number || right.number) {
    for (const Answer &answer : left.number ? right.answers : left.answers)
      keep(with_number(sign, answer, left.number ? left.value : right.value, left.number), result.answers, budget);
    budget.release(size_of(left.answers) + size_of(right.answers));
    return result;
  }
  for (const Answer &one : left.answers)
    for (const Answer &other : right.answers) {
      budget.work(1);
      if (!meet(one.tags, other.tags, keys)) continue;
      budget.work(one.points.size() + other.points.size());
      keep(combined(sign, one, other), result.answers, budget);
      if (result.answers.size() > kMaxAnswers)
        throw TooMuch("the formula would give more than " + std::to_string(kMaxAnswers) +
                      " answers; group by a tag that both sides have");
    }
  budget.release(size_of(left.answers) + size_of(right.answers));
  return result;
}

class Parser {
 public:
  Parser(std::string_view formula, const std::vector<std::vector<Answer>> &inputs, const Keys *keys, Budget &budget)
      : formula_(formula), inputs_(inputs), keys_(keys), budget_(budget) {}

  Operand whole() {
    Operand result = sum(0);
    if (next() != '\0') wrong("an operator");
    return result;
  }

 private:
  [[noreturn]] void wrong(const std::string &wanted) const {
    throw Wrong("formula " + core::in_quotes(formula_) + ": expected " + wanted + " at position " + std::to_string(at_ + 1));
  }
  char next() {
    while (at_ < formula_.size() && formula_[at_] == ' ') ++at_;
    return at_ < formula_.size() ? formula_[at_] : '\0';
  }

  Operand sum(int depth) {
    Operand left = product(depth);
    while (next() == '+' || next() == '-') {
      const char sign = formula_[at_++];
      left = apply(sign, left, product(depth), keys_, budget_);
    }
    return left;
  }
  Operand product(int depth) {
    Operand left = factor(depth);
    while (next() == '*' || next() == '/') {
      const char sign = formula_[at_++];
      left = apply(sign, left, factor(depth), keys_, budget_);
    }
    return left;
  }
  Operand factor(int depth) {
    if (depth > kMaxDepth) wrong("fewer parentheses");
    const char c = next();
    if (c == '(') {
      ++at_;
      Operand inner = sum(depth + 1);
      if (next() != ')') wrong("\")\"");
      ++at_;
      return inner;
    }
    if (c == '-') {
      ++at_;
      return apply('-', {true, 0, {}}, factor(depth + 1), keys_, budget_);
    }
    if (c >= 'a' && c <= 'z') return letter(c);
    return number();
  }
  Operand letter(char c) {
    const auto index = static_cast<size_t>(c - 'a');
    if (index >= inputs_.size())
      wrong(inputs_.empty() ? "a number" : "a letter from a to " + std::string(1, static_cast<char>('a' + inputs_.size() - 1)));
    ++at_;
    budget_.reserve(size_of(inputs_[index]));
    return {false, 0, inputs_[index]};
  }
  Operand number() {
    double value = 0;
    const auto [end, error] =
        std::from_chars(formula_.data() + at_, formula_.data() + formula_.size(), value, std::chars_format::fixed);
    if (error != std::errc() || !std::isfinite(value)) wrong("a number, a letter or \"(\"");
    at_ = static_cast<size_t>(end - formula_.data());
    return {true, value, {}};
  }

  std::string_view formula_;
  const std::vector<std::vector<Answer>> &inputs_;
  const Keys *keys_;
  Budget &budget_;
  size_t at_ = 0;
};

}  // namespace

std::vector<Answer> evaluate(std::string_view formula, const std::vector<std::vector<Answer>> &inputs, Budget &budget,
                             const std::vector<std::string> *keys) {
  Operand result = Parser(formula, inputs, keys, budget).whole();
  if (result.number) throw Wrong("formula " + core::in_quotes(formula) + " names no metric; a is the first --metric, b the second");
  for (Answer &answer : result.answers) {
    answer.metric = formula;
    answer.info = nullptr;
  }
  std::erase_if(result.answers, [](const Answer &answer) { return answer.points.empty(); });
  return std::move(result.answers);
}

std::optional<double> constant_of(std::string_view formula) {
  try {
    Budget budget({});
    const Operand result = Parser(formula, {}, nullptr, budget).whole();
    return result.number ? std::optional(result.value) : std::nullopt;
  } catch (const Wrong &) {
    return std::nullopt;
  }
}

}  // namespace atalaya::query
