// SPDX-License-Identifier: Apache-2.0
#include "core/base/text/ucum.h"
#include "core/base/text/text.h"

#include <algorithm>
#include <array>

namespace atalaya::core {
namespace {

constexpr std::array<std::string_view, 32> kMetric = {"m",  "s",  "g",  "L",  "l",   "By", "bit", "Hz",  "W",   "J", "V",
                                                      "A",  "K",  "C",  "F",  "N",   "Pa", "Ohm", "S",   "Wb",  "T", "H",
                                                      "lm", "lx", "Bq", "eV", "mol", "cd", "rad", "Cel", "bar", "t"};
constexpr std::array<std::string_view, 17> kPlain = {"%",   "min", "h",  "d",      "wk",    "mo",    "a",      "deg",   "10*",
                                                     "10^", "cal", "Bd", "[ppth]", "[ppm]", "[ppb]", "[degF]", "[pptr]"};
constexpr std::array<std::string_view, 20> kPrefixes = {"da", "Y", "Z", "E", "P", "T", "G", "M", "k", "h",
                                                        "d",  "c", "m", "u", "n", "p", "f", "a", "z", "y"};
constexpr std::array<std::string_view, 4> kBinaryPrefixes = {"Ki", "Mi", "Gi", "Ti"};

template <size_t size>
bool contains(const std::array<std::string_view, size> &words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_atom(std::string_view word) {
  if (contains(kMetric, word) || contains(kPlain, word)) return true;
  for (const std::string_view prefix : kPrefixes)
    if (word.starts_with(prefix) && contains(kMetric, word.substr(prefix.size()))) return true;
  for (const std::string_view prefix : kBinaryPrefixes)
    if (word.starts_with(prefix) && (word.substr(2) == "By" || word.substr(2) == "bit")) return true;
  return false;
}

// term = ["/"] component {("." | "/") component}; component = "(" term ")" | annotation | unit [exponent] [annotation] | number.
class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}
  bool whole() { return term(0) && rest_.empty(); }

 private:
  static constexpr int kDeepest = 4;

  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool term(int depth) {
    take('/');
    do {
      if (!component(depth)) return false;
    } while (take('.') || take('/'));
    return true;
  }
  bool component(int depth) {
    if (take('(')) return depth < kDeepest && term(depth + 1) && take(')');
    if (rest_.starts_with('{')) return annotation();
    if (!number() && !unit()) return false;
    return !rest_.starts_with('{') || annotation();
  }
  bool annotation() {
    const size_t end = rest_.find('}');
    if (end == std::string_view::npos) return false;
    const std::string_view text = rest_.substr(1, end - 1);
    if (text.empty() || !std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127 && c != '{'; })) return false;
    rest_.remove_prefix(end + 1);
    return true;
  }
  size_t digits() const { return static_cast<size_t>(std::find_if_not(rest_.begin(), rest_.end(), is_digit) - rest_.begin()); }
  bool number() {
    if (rest_.starts_with("10*") || rest_.starts_with("10^")) return false;
    const size_t size = digits();
    rest_.remove_prefix(size);
    return size > 0;
  }
  bool unit() {
    const bool power = rest_.starts_with("10*") || rest_.starts_with("10^");
    size_t size = power ? 3 : 0;
    if (!power)
      while (size < rest_.size() && std::string_view("./(){}+-").find(rest_[size]) == std::string_view::npos &&
             !is_digit(rest_[size]))
        ++size;
    if (!is_atom(rest_.substr(0, size))) return false;
    rest_.remove_prefix(size);
    const bool sign = take('-') || take('+');
    const size_t exponent = digits();
    rest_.remove_prefix(exponent);
    return !sign || exponent > 0;
  }

  std::string_view rest_;
};

}  // namespace

bool is_ucum(std::string_view unit) {
  static constexpr size_t kLongest = 64;
  return unit.size() <= kLongest && Parser(unit).whole();
}

}  // namespace atalaya::core
