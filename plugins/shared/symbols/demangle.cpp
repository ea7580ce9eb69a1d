// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/symbols/demangle.h"

#include <libiberty/demangle.h>

#include <algorithm>
#include <optional>

namespace atalaya::symbols {
namespace {

// Substitutions can double what each ten bytes of a mangled name stand for: what comes out is bounded, not what goes in.
constexpr size_t kLongestMangled = 4096, kLongestDemangled = 16384, kLongestName = 512;

struct TooLong {};

struct Output {
  std::string text;
  bool rust = false;
};

// libiberty keeps nothing on the heap meanwhile, but for names of Rust that are not in ASCII: those parts are left out, and what
// follows them ends it. C++ comes in parts that hold several names.
void append(const char *part, size_t size, void *output) {
  auto &[text, rust] = *static_cast<Output *>(output);
  if (text.size() + size <= kLongestDemangled) {
    text.append(part, size);
    return;
  }
  text.resize(kLongestDemangled);
  const bool held = rust && std::any_of(part, part + size, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  if (size > 0 && !held) throw TooLong();
}

// Nothing: it is no such name, or is too long.
std::optional<std::string> demangled_whole(const std::string &name) {
  try {
    Output rust{.text = {}, .rust = true}, plain;
    if (rust_demangle_callback(name.c_str(), DMGL_NO_OPTS, append, &rust) != 0) return std::move(rust.text);
    if (cplus_demangle_v3_callback(name.c_str(), DMGL_PARAMS | DMGL_ANSI, append, &plain) != 0) return std::move(plain.text);
  } catch (const TooLong &) {
  }
  return std::nullopt;
}

// Where the parenthesis opens that the last character closes; npos: nowhere.
size_t opening(std::string_view name) {
  size_t depth = 0;
  for (size_t at = name.size(); at-- > 0;) {
    if (name[at] == ')') ++depth;
    if (name[at] == '(' && --depth == 0) return at;
  }
  return std::string_view::npos;
}

}  // namespace

std::string_view without_parameters(std::string_view name) {
  std::string_view head = name.substr(0, name.find_last_of(')') + 1);
  // Behind the list: " const", " &", " [clone .part.0]".
  if (head.empty() || (head.size() < name.size() && name[head.size()] != ' ')) return name;
  const size_t at = opening(head);
  if (at == std::string_view::npos || at == 0) return name;
  head = head.substr(0, at);
  return head.ends_with("operator") ? name : head;
}

std::string demangled(std::string_view name) {
  const bool mangled = name.starts_with("_Z") || name.starts_with("_R");
  const auto text = mangled && name.size() <= kLongestMangled ? demangled_whole(std::string(name)) : std::nullopt;
  return std::string((text ? without_parameters(*text) : name).substr(0, kLongestName));
}

}  // namespace atalaya::symbols
