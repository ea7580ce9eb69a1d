// SPDX-License-Identifier: Apache-2.0
#include "plugins/symbols/demangle.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace atalaya::symbols {
namespace {

// Nested templates can make a name that is far longer than its mangled form, and take as long.
constexpr size_t kLongestMangled = 4096, kLongestName = 512;

struct Free {
  void operator()(char *text) const { std::free(text); }  // NOLINT(cppcoreguidelines-no-malloc): the library's memory
};

// Where the parenthesis opens that the last character closes; npos: nowhere.
size_t opening(std::string_view name) {
  size_t depth = 0;
  for (size_t at = name.size(); at-- > 0;) {
    if (name[at] == ')') ++depth;
    if (name[at] == '(' && --depth == 0) return at;
  }
  return std::string_view::npos;
}

// "core::fmt::write::h0123456789abcdef"
std::string_view without_rust_hash(std::string_view name) {
  static constexpr size_t kHash = 19;
  if (name.size() <= kHash) return name;
  const std::string_view tail = name.substr(name.size() - kHash);
  const bool hash = tail.starts_with("::h") && tail.find_first_not_of("0123456789abcdef", 3) == std::string_view::npos;
  return hash ? name.substr(0, name.size() - kHash) : name;
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
  if (!name.starts_with("_Z") || name.size() > kLongestMangled) return std::string(name.substr(0, kLongestName));
  int status = 0;
  const std::unique_ptr<char, Free> text(abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status));
  if (!text || status != 0) return std::string(name.substr(0, kLongestName));
  return std::string(without_rust_hash(without_parameters(text.get())).substr(0, kLongestName));
}

}  // namespace atalaya::symbols
