// SPDX-License-Identifier: Apache-2.0
#include "core/base/text/lua_pattern.h"

#include <cctype>
#include <cstring>

namespace atalaya::core {
namespace {

// The limit of one search: visits per byte of its subject, plus a fixed amount.
constexpr uint64_t kStepsPerByte = 16, kSteps = 1'000'000;

unsigned char byte_at(const char *s) {
  return static_cast<unsigned char>(*s);
}

bool is_class(unsigned char c, unsigned char name) {
  bool member = false;
  switch (std::tolower(name)) {
    case 'a':
      member = std::isalpha(c) != 0;
      break;
    case 'c':
      member = std::iscntrl(c) != 0;
      break;
    case 'd':
      member = std::isdigit(c) != 0;
      break;
    case 'g':
      member = std::isgraph(c) != 0;
      break;
    case 'l':
      member = std::islower(c) != 0;
      break;
    case 'p':
      member = std::ispunct(c) != 0;
      break;
    case 's':
      member = std::isspace(c) != 0;
      break;
    case 'u':
      member = std::isupper(c) != 0;
      break;
    case 'w':
      member = std::isalnum(c) != 0;
      break;
    case 'x':
      member = std::isxdigit(c) != 0;
      break;
    default:
      return name == c;
  }
  return member != (std::isupper(name) != 0);  // an upper-case class is the complement
}

}  // namespace

LuaPattern::LuaPattern(std::string_view subject, std::string_view pattern, bool anchors)
    : subject_(subject.data()),
      subject_end_(subject.data() + subject.size()),
      pattern_(pattern.data()),
      pattern_end_(pattern.data() + pattern.size()),
      anchored_(anchors && !pattern.empty() && pattern.front() == '^'),
      limit_(kSteps + kStepsPerByte * subject.size()) {
  if (anchored_) ++pattern_;
}

const char *LuaPattern::match_at(const char *place) {
  level_ = 0;
  depth_ = 0;
  return error_ == nullptr ? match(place, pattern_) : nullptr;
}

const char *LuaPattern::fail(const char *text, int number) {
  if (error_ == nullptr) {
    error_ = text;
    error_number_ = number;
  }
  return nullptr;
}

bool LuaPattern::spend(uint64_t steps) {
  steps_ += steps;
  if (steps_ > limit_) fail("pattern too expensive");
  return error_ == nullptr;
}

const char *LuaPattern::match(const char *s, const char *p) {
  if (depth_ >= kMaxDepth) return fail("pattern too complex");
  struct Depth {
    int &depth;
    explicit Depth(int &d) : depth(d) { ++depth; }
    ~Depth() { --depth; }
  } const guard(depth_);
  while (s != nullptr && p != pattern_end_) {
    if (!spend(1)) return nullptr;
    if (*p == '(') {
      const bool position = p + 1 != pattern_end_ && p[1] == ')';
      return open_capture(s, position ? p + 2 : p + 1, position ? kPosition : kOpen);
    }
    if (*p == ')') return close_capture(s, p + 1);
    if (*p == '$' && p + 1 == pattern_end_) return s == subject_end_ ? s : nullptr;
    if (*p == '%' && match_special(s, p)) continue;
    const char *end = item_end(p);
    if (end == nullptr) return nullptr;
    const char suffix = end == pattern_end_ ? '\0' : *end;
    if (suffix == '*') return repeat_greedy(s, p, end);
    if (suffix == '+') return item_matches(s, p, end) ? repeat_greedy(s + 1, p, end) : nullptr;
    if (suffix == '-') return repeat_lazy(s, p, end);
    const bool here = item_matches(s, p, end);
    if (suffix == '?') {
      const char *longer = here ? match(s + 1, end + 1) : nullptr;
      if (longer != nullptr || error_ != nullptr) return longer;
      p = end + 1;
    } else {
      if (!here) return nullptr;
      ++s;
      p = end;
    }
  }
  return s;
}

bool LuaPattern::match_special(const char *&s, const char *&p) {
  if (p + 1 == pattern_end_) return false;
  const char kind = p[1];
  if (kind == 'b') {
    s = balanced(s, p + 2);
    p += error_ == nullptr ? 4 : 2;
    return true;
  }
  if (kind == 'f') {
    const char *set = p + 2;
    if (set == pattern_end_ || *set != '[') {
      s = fail("missing '[' after '%%f' in pattern");
      return true;
    }
    const char *end = item_end(set);
    s = end == nullptr ? nullptr : frontier(s, set, end);
    p = end;
    return true;
  }
  if (std::isdigit(byte_at(p + 1)) == 0) return false;
  s = back_reference(s, kind);
  p += 2;
  return true;
}

const char *LuaPattern::repeat_greedy(const char *s, const char *p, const char *end) {
  ptrdiff_t count = 0;
  while (item_matches(s + count, p, end)) ++count;
  for (; count >= 0 && error_ == nullptr; --count)
    if (const char *rest = match(s + count, end + 1)) return rest;
  return nullptr;
}

const char *LuaPattern::repeat_lazy(const char *s, const char *p, const char *end) {
  for (;; ++s) {
    const char *rest = match(s, end + 1);
    if (rest != nullptr || error_ != nullptr) return rest;
    if (!item_matches(s, p, end)) return nullptr;
  }
}

const char *LuaPattern::open_capture(const char *s, const char *p, ptrdiff_t size) {
  if (level_ >= kMaxCaptures) return fail("too many captures");
  captures_[static_cast<size_t>(level_++)] = {s, size};
  const char *rest = match(s, p);
  if (rest == nullptr) --level_;
  return rest;
}

const char *LuaPattern::close_capture(const char *s, const char *p) {
  int index = level_ - 1;
  while (index >= 0 && capture(index).size != kOpen) --index;
  if (index < 0) return fail("invalid pattern capture");
  Capture &closed = captures_[static_cast<size_t>(index)];
  closed.size = s - closed.begin;
  const char *rest = match(s, p);
  if (rest == nullptr) closed.size = kOpen;
  return rest;
}

const char *LuaPattern::balanced(const char *s, const char *p) {
  if (pattern_end_ - p < 2) return fail("malformed pattern (missing arguments to '%%b')");
  if (s == subject_end_ || *s != p[0]) return nullptr;
  size_t open = 1;
  for (const char *at = s + 1; at != subject_end_; ++at) {
    if (!spend(1)) return nullptr;
    if (*at == p[1]) {
      if (--open == 0) return at + 1;
    } else if (*at == p[0]) {
      ++open;
    }
  }
  return nullptr;
}

const char *LuaPattern::frontier(const char *s, const char *set, const char *end) {
  const unsigned char before = s == subject_ ? 0 : byte_at(s - 1);
  const unsigned char here = s == subject_end_ ? 0 : byte_at(s);
  return !set_matches(before, set, end) && set_matches(here, set, end) ? s : nullptr;
}

const char *LuaPattern::back_reference(const char *s, char digit) {
  const int index = digit - '1';
  if (index < 0 || index >= level_ || capture(index).size == kOpen) return fail("invalid capture index %%%d", index + 1);
  const Capture &same = capture(index);
  if (same.size == kPosition || subject_end_ - s < same.size) return nullptr;
  const auto size = static_cast<size_t>(same.size);
  if (!spend(1 + size / 16)) return nullptr;
  return std::memcmp(same.begin, s, size) == 0 ? s + size : nullptr;
}

// The position after the single-character item at p: x, ., %x or [set].
const char *LuaPattern::item_end(const char *p) {
  if (*p == '%') return p + 1 == pattern_end_ ? fail("malformed pattern (ends with '%%')") : p + 2;
  if (*p != '[') return p + 1;
  ++p;
  if (p != pattern_end_ && *p == '^') ++p;
  do {  // a ']' in the first place belongs to the set
    if (p == pattern_end_) return fail("malformed pattern (missing ']')");
    if (*p++ == '%' && p != pattern_end_) ++p;
  } while (p == pattern_end_ || *p != ']');
  return p + 1;
}

bool LuaPattern::item_matches(const char *s, const char *p, const char *end) {
  if (s == subject_end_ || !spend(1)) return false;
  switch (*p) {
    case '.':
      return true;
    case '%':
      return is_class(byte_at(s), byte_at(p + 1));
    case '[':
      return set_matches(byte_at(s), p, end);
    default:
      return *p == *s;
  }
}

bool LuaPattern::set_matches(unsigned char c, const char *set, const char *end) {
  const char *last = end - 1;  // the closing ']'
  if (!spend(static_cast<uint64_t>(end - set) / 8)) return false;
  const bool complement = set[1] == '^';
  for (const char *p = set + (complement ? 2 : 1); p < last; ++p) {
    if (*p == '%') {
      if (is_class(c, byte_at(++p))) return !complement;
    } else if (p[1] == '-' && p + 2 < last) {
      if (byte_at(p) <= c && c <= byte_at(p + 2)) return !complement;
      p += 2;
    } else if (byte_at(p) == c) {
      return !complement;
    }
  }
  return complement;
}

}  // namespace atalaya::core
