// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/symbols/elf_symbols.h"

#include <elf.h>

#include <algorithm>
#include <span>

#include "plugins/shared/code/symbols/demangle.h"
#include "plugins/shared/code/symbols/functions.h"

namespace atalaya::symbols {
namespace {

constexpr size_t kMaxSymbols = 1 << 20;  // per file; further functions have no names
constexpr size_t kMaxNames = size_t{64} << 20;

}  // namespace

ElfSymbols::ElfSymbols(const ElfImage &image) : segments_(image) {
  stripped_ = !collect(image, SHT_SYMTAB);
  if (stripped_) {
    collect(image, SHT_DYNSYM);
    collect_packed(image.section(".gnu_debugdata"));
  }
  sort();
}

void ElfSymbols::add(const ElfImage &debug) {
  collect(debug, SHT_SYMTAB);
  sort();
}

// False: the file has no such table.
bool ElfSymbols::collect(const ElfImage &image, uint32_t type) {
  return for_each_function(image, type, [this](const Function &function) {
    if (symbols_.size() >= kMaxSymbols || names_.size() >= kMaxNames) return false;
    symbols_.push_back(
        {function.address, function.size, static_cast<uint32_t>(names_.size()), static_cast<uint32_t>(function.name.size())});
    names_ += function.name;
    return true;
  });
}

void ElfSymbols::collect_packed(std::string_view packed) {
  const std::string bytes = decompress_debug_data(packed);
  if (const auto image = ElfImage::of_memory(std::as_bytes(std::span(bytes)))) collect(*image, SHT_SYMTAB);
}

// Of several names of one address, prefers one with a size, then the first.
void ElfSymbols::sort() {
  const auto before = [](const Symbol &a, const Symbol &b) {
    return a.address != b.address ? a.address < b.address : a.size > b.size;
  };
  std::stable_sort(symbols_.begin(), symbols_.end(), before);
  const auto same = [](const Symbol &a, const Symbol &b) { return a.address == b.address; };
  symbols_.erase(std::unique(symbols_.begin(), symbols_.end(), same), symbols_.end());
  symbols_.shrink_to_fit();
  names_.shrink_to_fit();
}

// A symbol without a size extends to the next one.
const ElfSymbols::Symbol *ElfSymbols::symbol_at(uint64_t address) const {
  auto after =
      std::upper_bound(symbols_.begin(), symbols_.end(), address, [](uint64_t at, const Symbol &s) { return at < s.address; });
  // Symbols may be nested: an earlier, longer one may contain the address.
  static constexpr int kNested = 8;
  for (int i = 0; i < kNested && after != symbols_.begin(); ++i) {
    --after;
    if (after->size == 0 ? i == 0 : address - after->address < after->size) return &*after;
  }
  return nullptr;
}

std::string_view ElfSymbols::find(uint64_t file_offset) {
  const auto address = segments_.address_of(file_offset);
  const Symbol *symbol = address ? symbol_at(*address) : nullptr;
  if (symbol == nullptr) return {};
  auto [known, is_new] = known_.try_emplace(symbol->address);
  if (is_new) {
    known->second = demangled(std::string_view(names_).substr(symbol->name, symbol->name_size));
    known_bytes_ += known->second.capacity() + sizeof(*known);
  }
  return known->second;
}

}  // namespace atalaya::symbols
