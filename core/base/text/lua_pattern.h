// SPDX-License-Identifier: Apache-2.0
// Lua patterns (Lua 5.4 reference manual, section 6.4.1) by backtracking, with a limit on the steps of one search. Without the
// limit ("a"):rep(400):find(".-.-.-b") would not end, and a Lua hook cannot interrupt C code. Independent of a Lua state; never
// throws.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace atalaya::core {

class LuaPattern {
 public:
  static constexpr int kMaxCaptures = 32;
  static constexpr ptrdiff_t kPosition = -2;  // size of a capture "()"

  struct Capture {
    const char *begin;
    ptrdiff_t size;  // bytes; kPosition: the capture is the position `begin`
  };

  // `anchors`: a '^' at the start of the pattern is an anchor. In gmatch it is an ordinary character.
  LuaPattern(std::string_view subject, std::string_view pattern, bool anchors);

  bool anchored() const { return anchored_; }
  // Matches the pattern at this position of the subject. Returns the end of the match; nullptr without a match, or on an error.
  const char *match_at(const char *place);

  // The error in the pattern, or the message that the search exceeds the limit; nullptr without an error. Its "%d" means
  // error_number.
  const char *error() const { return error_; }
  int error_number() const { return error_number_; }
  int captures() const { return level_; }
  const Capture &capture(int index) const { return captures_[static_cast<size_t>(index)]; }
  // Steps of all calls so far.
  uint64_t steps() const { return steps_; }

 private:
  static constexpr ptrdiff_t kOpen = -1;
  static constexpr int kMaxDepth = 200;

  const char *match(const char *s, const char *p);
  // Matches an item that starts with '%' and is not a character class: %b, %f, a back reference. False for a class.
  bool match_special(const char *&s, const char *&p);
  const char *repeat_greedy(const char *s, const char *p, const char *end);
  const char *repeat_lazy(const char *s, const char *p, const char *end);
  const char *open_capture(const char *s, const char *p, ptrdiff_t size);
  const char *close_capture(const char *s, const char *p);
  const char *balanced(const char *s, const char *p);
  const char *frontier(const char *s, const char *set, const char *end);
  const char *back_reference(const char *s, char digit);
  const char *item_end(const char *p);
  bool item_matches(const char *s, const char *p, const char *end);
  bool set_matches(unsigned char c, const char *set, const char *end);
  bool spend(uint64_t steps);
  const char *fail(const char *text, int number = 0);

  const char *subject_, *subject_end_, *pattern_, *pattern_end_;
  bool anchored_;
  const char *error_ = nullptr;
  int error_number_ = 0;
  int level_ = 0, depth_ = 0;
  uint64_t steps_ = 0, limit_;
  std::array<Capture, kMaxCaptures> captures_{};
};

}  // namespace atalaya::core
