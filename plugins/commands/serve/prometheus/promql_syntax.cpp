// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/prometheus/promql_syntax.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/text/text.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::serve {
namespace {

constexpr int kMaxNesting = 64;
constexpr size_t kMaxParts = 1000, kMaxMatchersPerValue = 64, kLongestText = 20'000;

constexpr std::array kAggregations = {"avg", "count", "max", "min", "sum", "topk"};
constexpr std::array kRangeFunctions = {"avg_over_time", "count_over_time", "increase", "last_over_time",
                                        "max_over_time", "min_over_time",   "rate",     "sum_over_time"};
constexpr const char *kSupported =
    "; supported are selectors, sum, avg, min, max, count, topk, rate, increase, ..._over_time (avg, count, last, max, min, sum), "
    "arithmetic, comparisons and offset";

template <size_t Count>
bool is_one_of(const std::array<const char *, Count> &words, std::string_view word) {
  return std::any_of(words.begin(), words.end(), [&](const char *one) { return one == word; });
}

bool is_word_character(char c) {
  return core::is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == ':';
}

// Precedence of an operator: a higher one binds closer; 0: not an operator.
int rank_of(std::string_view sign) {
  if (is_comparison(sign)) return 1;
  if (sign == "+" || sign == "-") return 2;
  if (sign == "*" || sign == "/" || sign == "%") return 3;
  return sign == "^" ? 5 : 0;
}
constexpr int kRankOfNegation = 4;

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Part read() {
    if (text_.size() > kLongestText) throw query::Wrong("the query has more than 20000 bytes");
    Part whole = expression(1);
    space();
    if (at_ < text_.size()) after_the_end();
    if (whole->type == ValueType::range) wrong(0, "a range such as [5m] needs a function such as rate or sum_over_time");
    return whole;
  }

 private:
  [[noreturn]] void wrong(size_t at, const std::string &what) const {
    throw query::Wrong("query " + core::in_quotes(text_) + ", position " + std::to_string(at + 1) + ": " + what);
  }
  [[noreturn]] void unsupported(size_t at, const std::string &what) const { wrong(at, what + " is not supported" + kSupported); }
  [[noreturn]] void after_the_end() {
    const size_t at = at_;
    const std::string next = core::lower(peek_word());
    if (next == "and" || next == "or" || next == "unless") unsupported(at, "the operator " + next);
    if (next == "group_left" || next == "group_right") unsupported(at, next);
    if (peek() == '@') unsupported(at, "the modifier @");
    wrong(at, "expected an operator or the end");
  }

  void space() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '#')
        while (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
      else if (c != ' ' && c != '\n' && c != '\t' && c != '\r')
        return;
    }
  }
  char peek() {
    space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void need(char c) {
    if (!take(c)) wrong(at_, std::string("expected \"") + c + "\"");
  }
  std::string_view peek_word() {
    space();
    size_t end = at_;
    while (end < text_.size() && is_word_character(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }
  bool consume_word(std::string_view word) {
    const std::string_view next = peek_word();
    if (core::lower(next) != word) return false;
    at_ += next.size();
    return true;
  }

  std::string_view sign() {
    space();
    for (const std::string_view one : {"==", "!=", ">=", "<=", ">", "<", "+", "-", "*", "/", "%", "^"})
      if (text_.substr(at_, one.size()) == one) return one;
    return {};
  }

  Part made(Expression::Kind kind, ValueType type, std::string word) {
    if (++parts_ > kMaxParts) wrong(at_, "more than 1000 parts");
    auto part = std::make_unique<Expression>();
    part->kind = kind;
    part->type = type;
    part->word = std::move(word);
    return part;
  }

  Part expression(int minimum) {
    if (++depth_ > kMaxNesting) wrong(at_, "nested more than 64 times");
    Part left = operand();
    for (;;) {
      const std::string_view found = sign();
      const int rank = rank_of(found);
      if (rank == 0 || rank < minimum) break;
      left = binary(std::move(left), found, rank);
    }
    --depth_;
    return left;
  }

  Part binary(Part left, std::string_view found, int rank) {
    const size_t at = at_;
    at_ += found.size();
    Part whole = made(Expression::Kind::binary, ValueType::scalar, std::string(found));
    if (consume_word("bool")) {
      if (!is_comparison(found)) wrong(at, "bool belongs to comparisons");
      whole->returns_bool = true;
    }
    whole->matches_all = true;
    for (const bool on : {true, false})
      if (consume_word(on ? "on" : "ignoring")) {
        whole->matches_all = false;
        whole->keeps_labels = on;
        whole->labels = label_list();
        break;
      }
    if (const std::string next = core::lower(peek_word()); next == "group_left" || next == "group_right") unsupported(at_, next);
    Part right = expression(found == "^" ? rank : rank + 1);  // a ^ b ^ c is a ^ (b ^ c)
    for (const Part *part : {&left, &right})
      if ((*part)->type == ValueType::range) wrong(at, "an operator needs numbers or series, not a range");
    if (left->type == ValueType::vector || right->type == ValueType::vector) whole->type = ValueType::vector;
    if (whole->type == ValueType::scalar && is_comparison(found) && !whole->returns_bool)
      wrong(at, "a comparison of numbers needs bool");
    whole->parts.push_back(std::move(left));
    whole->parts.push_back(std::move(right));
    return whole;
  }

  Part operand() {
    const char c = peek();
    if (c == '+' || c == '-') {
      const size_t at = at_++;
      Part inner = expression(kRankOfNegation);
      if (inner->type == ValueType::range) wrong(at, "an operator needs numbers or series, not a range");
      if (c == '+') return inner;
      Part negated = made(Expression::Kind::negation, inner->type, "-");
      negated->parts.push_back(std::move(inner));
      return negated;
    }
    if (take('(')) {
      Part inner = expression(1);
      need(')');
      if (peek() == '[') unsupported(at_, "a subquery");
      return inner;
    }
    if (core::is_digit(c) || c == '.') return number();
    if (c == '"' || c == '\'' || c == '`') unsupported(at_, "a text");
    return word_or_selector();
  }

  Part number() {
    const size_t at = at_;
    while (at_ < text_.size() && (is_word_character(text_[at_]) || text_[at_] == '.' ||
                                  ((text_[at_] == '+' || text_[at_] == '-') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E'))))
      ++at_;
    Part part = made(Expression::Kind::number, ValueType::scalar, "");
    const auto number = core::number_from<double>(std::string_view(text_).substr(at, at_ - at));
    if (!number) wrong(at, "expected a number");
    part->number = *number;
    return part;
  }

  Part word_or_selector() {
    const size_t at = at_;
    const std::string_view word = peek_word();
    const std::string small = core::lower(word);
    if (small == "inf" || small == "nan") {
      at_ += word.size();
      Part part = made(Expression::Kind::number, ValueType::scalar, "");
      part->number = small == "inf" ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
      return part;
    }
    const size_t after = at_ + word.size();
    if (is_one_of(kAggregations, small) && begins_aggregation(after)) {
      at_ = after;
      return aggregation(at, small);
    }
    size_t next = after;
    while (next < text_.size() && text_[next] == ' ') ++next;
    if (!word.empty() && next < text_.size() && text_[next] == '(') {
      if (!is_one_of(kRangeFunctions, word)) unsupported(at, "the function " + core::in_quotes(word));
      at_ = next;
      return call(at, std::string(word));
    }
    return selector(at);
  }

  // A metric may have the name of an aggregation: sum{host="a"}.
  bool begins_aggregation(size_t after) {
    const size_t before = std::exchange(at_, after);
    const char next = peek();
    const std::string word = core::lower(peek_word());
    at_ = before;
    return next == '(' || word == "by" || word == "without";
  }

  Part aggregation(size_t at, const std::string &word) {
    Part whole = made(Expression::Kind::aggregation, ValueType::vector, word);
    whole->keeps_labels = true;
    const bool first = grouping(*whole);
    need('(');
    if (word == "topk") {
      whole->parts.push_back(expression(1));
      if (whole->parts.front()->type != ValueType::scalar) wrong(at, "topk needs a number, then series");
      need(',');
    }
    whole->parts.push_back(expression(1));
    if (whole->parts.back()->type != ValueType::vector) wrong(at, word + " needs series");
    need(')');
    if (!first) grouping(*whole);
    return whole;
  }

  bool grouping(Expression &whole) {
    for (const bool by : {true, false})
      if (consume_word(by ? "by" : "without")) {
        whole.keeps_labels = by;
        whole.labels = label_list();
        return true;
      }
    return false;
  }

  std::vector<std::string> label_list() {
    std::vector<std::string> labels;
    need('(');
    while (!take(')')) {
      labels.push_back(name());
      if (labels.back().empty()) wrong(at_, "expected a label");
      if (labels.size() > kMaxMatchersPerValue) wrong(at_, "more than 64 labels");
      if (take(',')) continue;
      need(')');
      break;
    }
    return labels;
  }

  Part call(size_t at, std::string word) {
    need('(');
    Part whole = made(Expression::Kind::call, ValueType::vector, std::move(word));
    whole->parts.push_back(expression(1));
    need(')');
    if (whole->parts.front()->type != ValueType::range)
      wrong(at, whole->word + " needs a range, such as " + whole->word + "(x[5m])");
    return whole;
  }

  // A backslash escapes other characters: proc\.cpu\.user.
  std::string name() {
    space();
    std::string word;
    while (at_ < text_.size() && (is_word_character(text_[at_]) || (text_[at_] == '\\' && at_ + 1 < text_.size()))) {
      if (text_[at_] == '\\') ++at_;
      word += text_[at_++];
    }
    return word;
  }

  Part selector(size_t at) {
    Part part = made(Expression::Kind::selector, ValueType::vector, name());
    if (take('{')) matchers(*part);
    if (part->word.empty() && part->matchers.empty()) wrong(at, "expected a metric, a number or a function");
    if (take('[')) {
      part->range_ns = duration();
      if (take(':')) unsupported(at_ - 1, "a subquery");
      if (part->range_ns <= 0) wrong(at, "the range must be longer than 0");
      need(']');
      part->type = ValueType::range;
    }
    if (consume_word("offset")) {
      const bool negative = take('-');
      part->offset_ns = duration() * (negative ? -1 : 1);
    }
    if (peek() == '@') unsupported(at_, "the modifier @");
    return part;
  }

  void matchers(Expression &part) {
    while (!take('}')) {
      LabelMatcher matcher;
      matcher.label = name();
      if (matcher.label.empty()) wrong(at_, "a matcher has no label");
      space();
      for (const std::string_view one : {"=~", "!~", "!=", "="})
        if (text_.substr(at_, one.size()) == one) {
          matcher.sign = one;
          break;
        }
      if (matcher.sign.empty()) wrong(at_, "expected = != =~ or !~");
      at_ += matcher.sign.size();
      matcher.value = quoted();
      part.matchers.push_back(std::move(matcher));
      if (part.matchers.size() > kMaxMatchersPerValue) wrong(at_, "more than 64 matchers");
      if (take(',')) continue;
      if (take('}')) break;
      wrong(at_, "expected \",\" or \"}\"");
    }
  }

  std::string quoted() {
    const char quote = peek();
    if (quote != '"' && quote != '\'' && quote != '`') wrong(at_, "expected a text in quotes");
    const size_t at = at_++;
    std::string value;
    for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\\' && quote != '`' && at_ + 1 < text_.size()) {
        const char c = text_[++at_];
        value += c == 'n' ? '\n' : c == 't' ? '\t' : c;
      } else {
        value += text_[at_];
      }
    }
    if (at_ == text_.size()) wrong(at, "the text has no end");
    ++at_;
    return value;
  }

  // Parses a duration such as 1h30m, from 0 to 100 years.
  int64_t duration() {
    constexpr std::array<std::pair<std::string_view, double>, 7> kUnits = {
        {{"ms", 1e6}, {"s", 1e9}, {"m", 6e10}, {"h", 3.6e12}, {"d", 8.64e13}, {"w", 6.048e14}, {"y", 3.1536e16}}};
    space();
    const size_t at = at_;
    double sum = 0;
    while (at_ < text_.size() && core::is_digit(text_[at_])) {
      double count = 0;
      while (at_ < text_.size() && core::is_digit(text_[at_])) count = count * 10 + (text_[at_++] - '0');
      const auto unit = std::find_if(kUnits.begin(), kUnits.end(),
                                     [&](const auto &one) { return text_.substr(at_, one.first.size()) == one.first; });
      if (unit == kUnits.end()) wrong(at_, "expected a unit of time: ms, s, m, h, d, w or y");
      at_ += unit->first.size();
      sum += count * unit->second;
    }
    if (at_ == at) wrong(at, "expected a duration, such as 5m");
    if (!(sum <= 3.2e18)) wrong(at, "the duration is longer than 100 years");
    return std::llround(sum);
  }

  const std::string_view text_;
  size_t at_ = 0, parts_ = 0;
  int depth_ = 0;
};

}  // namespace

bool is_comparison(std::string_view sign) {
  return sign == "==" || sign == "!=" || sign == ">" || sign == "<" || sign == ">=" || sign == "<=";
}

Part read_promql(std::string_view text) {
  return Reader(text).read();
}

}  // namespace atalaya::serve
