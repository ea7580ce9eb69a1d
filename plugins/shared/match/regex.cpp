// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/match/regex.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace atalaya::core {

// Recursive descent; each rule returns its piece of program, or nothing after noting the error.
class RegexParser {
 public:
  explicit RegexParser(std::string_view pattern) : pattern_(pattern) {}

  Result<Regex> parse() {
    auto program = alternatives(0);
    if (program && at_ < pattern_.size()) program = fail("unbalanced )");
    if (!program) return Error{"regular expression \"" + std::string(pattern_) + "\": " + error_};
    regex_.program_ = std::move(*program);
    return std::move(regex_);
  }

 private:
  using Op = Regex::Op;
  using Piece = std::vector<Regex::Instruction>;
  static constexpr int kMaxDepth = 64;
  static constexpr int kMaxRepeat = 255;

  std::nullopt_t fail(std::string_view what) {
    error_ = std::string(what) + " at character " + std::to_string(at_ + 1);
    return std::nullopt;
  }
  bool next_is(char c) const { return at_ < pattern_.size() && pattern_[at_] == c; }

  std::optional<Piece> alternatives(int depth) {
    if (depth > kMaxDepth) return fail("groups nest too deep");
    auto left = sequence(depth);
    while (left && next_is('|')) {
      ++at_;
      const auto right = sequence(depth);
      if (!right) return std::nullopt;
      Piece both = {split(1, length(*left) + 2)};
      append(both, *left);
      both.push_back(jump(length(*right) + 1));
      append(both, *right);
      left = checked(std::move(both));
    }
    return left;
  }

  std::optional<Piece> sequence(int depth) {
    Piece whole;
    while (at_ < pattern_.size() && pattern_[at_] != '|' && pattern_[at_] != ')') {
      auto piece = atom(depth);
      while (piece && at_ < pattern_.size() && (next_is('*') || next_is('+') || next_is('?') || next_is('{')))
        piece = repeated(*piece);
      if (!piece) return std::nullopt;
      append(whole, *piece);
      if (whole.size() > Regex::kMaxProgram) return fail("the expression is too long");
    }
    return whole;
  }

  std::optional<Piece> atom(int depth) {
    const char c = pattern_[at_++];
    switch (c) {
      case '(': {
        auto inner = alternatives(depth + 1);
        if (inner && !next_is(')')) return fail("( is not closed");
        ++at_;
        return inner;
      }
      case '[': {
        ByteSet set;
        const size_t behind = parse_byte_set(pattern_, at_, set);
        if (behind == std::string_view::npos) return fail("[ is not closed or holds a range that runs backwards");
        at_ = behind;
        return one_of(set);
      }
      case '.':
        return one_of(ByteSet().set());
      case '^':
        return Piece{{Op::begin, 0, 1, 0}};
      case '$':
        return Piece{{Op::end, 0, 1, 0}};
      case '\\':
        return escape();
      case '*':
      case '+':
      case '?':
      case '{':
        --at_;
        return fail("nothing to repeat");
      default:
        return one_of(ByteSet().set(static_cast<unsigned char>(c)));
    }
  }

  std::optional<Piece> escape() {
    if (at_ >= pattern_.size()) return fail("\\ at the end");
    const char c = pattern_[at_++];
    ByteSet set;
    switch (c) {
      case 'd':
        parse_byte_set("[:digit:]]", 0, set);
        break;
      case 'w':
        parse_byte_set("[:alnum:]_]", 0, set);
        break;
      case 's':
        parse_byte_set("[:space:]]", 0, set);
        break;
      default:
        if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return fail("unknown escape");
        set.set(static_cast<unsigned char>(c));
    }
    return one_of(set);
  }

  // The piece with the repetition that stands at at_.
  std::optional<Piece> repeated(const Piece &piece) {
    int least = 0, most = 1;
    bool endless = true;
    switch (pattern_[at_++]) {
      case '*':
        break;
      case '+':
        least = 1;
        break;
      case '?':
        endless = false;
        break;
      default:
        if (!counts(least, most, endless)) return std::nullopt;
    }
    if ((piece.size() + 2) * static_cast<size_t>(std::max(least, most) + 1) > Regex::kMaxProgram)
      return fail("the repetition makes the expression too long");
    Piece result;
    for (int i = 0; i < least; ++i) append(result, piece);
    if (endless) {
      result.push_back(split(1, length(piece) + 2));
      append(result, piece);
      result.push_back(jump(-length(piece) - 1));
    }
    for (int i = least; i < most && !endless; ++i) {
      result.push_back(split(1, length(piece) + 1));
      append(result, piece);
    }
    return checked(std::move(result));
  }

  // "m}", "m,}" or "m,n}".
  bool counts(int &least, int &most, bool &endless) {
    const auto first = number();
    endless = false;
    least = most = first.value_or(0);
    bool good = first.has_value();
    if (good && next_is(',')) {
      ++at_;
      const auto second = number();
      endless = !second && next_is('}');
      good = endless || (second && *second >= least);
      most = second.value_or(least);
    }
    if (good && next_is('}')) return ++at_, true;
    fail("a repetition is {m}, {m,} or {m,n}, at most 255");
    return false;
  }
  std::optional<int> number() {
    int value = 0;
    const size_t begin = at_;
    for (; at_ < pattern_.size() && pattern_[at_] >= '0' && pattern_[at_] <= '9' && value <= kMaxRepeat; ++at_)
      value = value * 10 + (pattern_[at_] - '0');
    if (at_ == begin || value > kMaxRepeat) return std::nullopt;
    return value;
  }

  std::optional<Piece> checked(Piece piece) {
    if (piece.size() > Regex::kMaxProgram) return fail("the expression is too long");
    return piece;
  }
  Piece one_of(const ByteSet &set) {
    size_t index = 0;
    while (index < regex_.sets_.size() && regex_.sets_[index] != set) ++index;
    if (index == regex_.sets_.size()) regex_.sets_.push_back(set);
    return {{Op::byte, static_cast<uint16_t>(index), 1, 0}};
  }
  static Regex::Instruction split(int32_t a, int32_t b) { return {Op::split, 0, a, b}; }
  static Regex::Instruction jump(int32_t to) { return {Op::split, 0, to, to}; }
  static int32_t length(const Piece &piece) { return static_cast<int32_t>(piece.size()); }
  static void append(Piece &to, const Piece &piece) { to.insert(to.end(), piece.begin(), piece.end()); }

  std::string_view pattern_;
  size_t at_ = 0;
  Regex regex_;
  std::string error_;
};

Result<Regex> Regex::parse(std::string_view pattern) {
  static constexpr size_t kMaxPattern = 1024;
  if (pattern.size() > kMaxPattern) return Error{"a regular expression has at most 1024 characters"};
  return RegexParser(pattern).parse();
}

// Thompson's simulation: all states that the text so far can lead to, each once.
bool Regex::search(std::string_view text) const {
  std::array<uint16_t, kMaxProgram> current;  // states that wait for a byte
  std::array<uint16_t, kMaxProgram + 1> open;
  std::array<size_t, kMaxProgram> seen;  // the last position at which a state was reached, + 1
  std::fill_n(seen.begin(), program_.size(), 0);
  std::array<uint16_t, kMaxProgram> next;
  size_t waiting = 0;
  bool matched = false;

  // Follows what needs no byte. Each state is entered once a position, so the arrays cannot overflow.
  const auto reach = [&](size_t state, size_t position, std::array<uint16_t, kMaxProgram> &states, size_t &count) {
    size_t opened = 0;
    const auto enter = [&](size_t to) {
      if (to == program_.size()) {
        matched = true;
      } else if (seen[to] != position + 1) {
        seen[to] = position + 1;
        open[opened++] = static_cast<uint16_t>(to);
      }
    };
    const auto from = [](size_t at, int32_t by) { return static_cast<size_t>(static_cast<int64_t>(at) + by); };
    for (enter(state); opened > 0;) {
      const size_t at = open[--opened];
      const Instruction &one = program_[at];
      if (one.op == Op::byte) states[count++] = static_cast<uint16_t>(at);
      if (one.op == Op::split) enter(from(at, one.a)), enter(from(at, one.b));
      if ((one.op == Op::begin && position == 0) || (one.op == Op::end && position == text.size())) enter(at + 1);
    }
  };

  for (size_t position = 0;; ++position) {
    reach(0, position, current, waiting);
    if (matched) return true;
    if (position == text.size()) return false;
    size_t count = 0;
    for (size_t i = 0; i < waiting; ++i)
      if (sets_[program_[current[i]].set].test(static_cast<unsigned char>(text[position])))
        reach(size_t{current[i]} + 1, position + 1, next, count);
    if (matched) return true;
    std::copy_n(next.begin(), count, current.begin());
    waiting = count;
  }
}

}  // namespace atalaya::core
