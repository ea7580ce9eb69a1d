// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/symbols/demangle.h"

#include <libiberty/demangle.h>

#include <algorithm>
#include <optional>

namespace atalaya::symbols {
namespace {

// Substitutions can double the output for each ten bytes of input, so the limit is on the output.
constexpr size_t kMaxMangledBytes = 4096, kMaxDemangledBytes = 16384, kMaxNameBytes = 512;

struct TooLong {};

struct Output {
  std::string text;
  bool rust = false;
};

// libiberty's callback. It may throw because libiberty holds no heap memory then, except for non-ASCII parts of Rust names: such a
// part is dropped, and the next part throws. Parts of C++ names contain several identifiers.
void append(const char *part, size_t size, void *output) {
  auto &[text, rust] = *static_cast<Output *>(output);
  if (text.size() + size <= kMaxDemangledBytes) {
    text.append(part, size);
    return;
  }
  text.resize(kMaxDemangledBytes);
  const bool held = rust && std::any_of(part, part + size, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  if (size > 0 && !held) throw TooLong();
}

// Nothing: not a mangled name, or too long.
std::optional<std::string> demangled_whole(const std::string &name) {
  try {
    Output rust{.text = {}, .rust = true}, plain;
    if (rust_demangle_callback(name.c_str(), DMGL_NO_OPTS, append, &rust) != 0) return std::move(rust.text);
    if (cplus_demangle_v3_callback(name.c_str(), DMGL_PARAMS | DMGL_ANSI, append, &plain) != 0) return std::move(plain.text);
  } catch (const TooLong &) {
  }
  return std::nullopt;
}

// Position of the parenthesis that matches the last character; npos: none.
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
  // After the list: " const", " &", " [clone .part.0]".
  if (head.empty() || (head.size() < name.size() && name[head.size()] != ' ')) return name;
  const size_t at = opening(head);
  if (at == std::string_view::npos || at == 0) return name;
  head = head.substr(0, at);
  return head.ends_with("operator") ? name : head;
}

std::string demangled(std::string_view name) {
  const bool mangled = name.starts_with("_Z") || name.starts_with("_R");
  const auto text = mangled && name.size() <= kMaxMangledBytes ? demangled_whole(std::string(name)) : std::nullopt;
  return std::string((text ? without_parameters(*text) : name).substr(0, kMaxNameBytes));
}

}  // namespace atalaya::symbols
