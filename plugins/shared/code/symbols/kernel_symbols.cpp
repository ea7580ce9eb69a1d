// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/symbols/kernel_symbols.h"

#include <algorithm>
#include <charconv>

#include "core/base/text/text.h"

namespace atalaya::symbols {
namespace {

// Maximum length of a function: an address farther beyond a symbol has no symbol.
constexpr uint64_t kMaxFunctionBytes = 1 << 20;
constexpr std::string_view kCode = "tTwW";

}  // namespace

// "ffffffff81000000 T _stext", followed by "\t[module]" for modules.
KernelSymbols::KernelSymbols(std::string_view text) {
  text = text.substr(0, kMaxKallsyms);
  while (!text.empty()) {
    std::string_view line = core::cut_at(text, '\n');
    uint64_t address = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
    line.remove_prefix(static_cast<size_t>(end - line.data()));
    if (error != std::errc() || address == 0 || line.size() < 4 || kCode.find(line[1]) == std::string_view::npos) continue;
    line.remove_prefix(3);
    const std::string_view name = line.substr(0, line.find_first_of("\t "));
    symbols_.push_back({address, static_cast<uint32_t>(names_.size()), static_cast<uint32_t>(name.size())});
    names_ += name;
  }
  std::stable_sort(symbols_.begin(), symbols_.end(), [](const Symbol &a, const Symbol &b) { return a.address < b.address; });
  symbols_.shrink_to_fit();
  names_.shrink_to_fit();
}

std::string_view KernelSymbols::find(uint64_t address) const {
  auto after =
      std::upper_bound(symbols_.begin(), symbols_.end(), address, [](uint64_t at, const Symbol &s) { return at < s.address; });
  if (after == symbols_.begin()) return {};
  const uint64_t begin = std::prev(after)->address;
  if (address - begin >= kMaxFunctionBytes) return {};
  // Of several names of one address, uses the first, as perf does.
  const auto first = std::lower_bound(symbols_.begin(), after, begin, [](const Symbol &s, uint64_t at) { return s.address < at; });
  return std::string_view(names_).substr(first->name, first->name_size);
}

}  // namespace atalaya::symbols
