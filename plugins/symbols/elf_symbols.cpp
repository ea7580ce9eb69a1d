// SPDX-License-Identifier: Apache-2.0
#include "plugins/symbols/elf_symbols.h"

#include <gelf.h>
#include <libelf.h>
#include <lzma.h>

#include <algorithm>
#include <span>

#include "plugins/symbols/demangle.h"

namespace atalaya::symbols {
namespace {

constexpr size_t kMaxNames = size_t{64} << 20;
constexpr size_t kLongestName = 4096;

// .gnu_debugdata holds an ELF file in one or more xz streams.
std::string unpacked(std::string_view packed) {
  lzma_stream stream = LZMA_STREAM_INIT;
  std::string out;
  if (lzma_stream_decoder(&stream, kMaxDebugData, LZMA_CONCATENATED) != LZMA_OK) return out;
  stream.next_in = reinterpret_cast<const uint8_t *>(packed.data());
  stream.avail_in = packed.size();
  lzma_ret result = LZMA_OK;
  while (result == LZMA_OK && out.size() < kMaxDebugData) {
    const size_t used = out.size();
    out.resize(used + (size_t{1} << 20));
    stream.next_out = reinterpret_cast<uint8_t *>(out.data()) + used;
    stream.avail_out = out.size() - used;
    result = lzma_code(&stream, LZMA_FINISH);
    out.resize(out.size() - stream.avail_out);
  }
  lzma_end(&stream);
  if (result != LZMA_STREAM_END) out.clear();
  return out;
}

bool is_function(const GElf_Sym &symbol) {
  const unsigned type = GELF_ST_TYPE(symbol.st_info);
  return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0;
}

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

// False when there is no such table.
bool ElfSymbols::collect(const ElfImage &image, uint32_t type) {
  for (Elf_Scn *section = nullptr; (section = elf_nextscn(image.raw(), section)) != nullptr;) {
    GElf_Shdr header, strings;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != type || header.sh_entsize == 0) continue;
    Elf_Scn *texts = elf_getscn(image.raw(), header.sh_link);
    if (gelf_getshdr(texts, &strings) == nullptr || strings.sh_type != SHT_STRTAB) continue;
    Elf_Data *data = image.section_data(section);
    const std::string_view names = image.section_bytes(texts);
    if (data == nullptr || names.empty()) continue;
    const size_t count = std::min<size_t>(header.sh_size / header.sh_entsize, kMaxSymbols);
    names_.reserve(std::min(names_.size() + names.size(), kMaxNames + kLongestName));
    for (size_t i = 0; i < count && symbols_.size() < kMaxSymbols && names_.size() < kMaxNames; ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
      if (!is_function(symbol) || symbol.st_name >= names.size()) continue;
      std::string_view name = names.substr(symbol.st_name, kLongestName);
      name = name.substr(0, name.find('\0'));
      if (name.empty()) continue;
      symbols_.push_back(
          {symbol.st_value, symbol.st_size, static_cast<uint32_t>(names_.size()), static_cast<uint32_t>(name.size())});
      names_ += name;
    }
    return true;
  }
  return false;
}

void ElfSymbols::collect_packed(std::string_view packed) {
  const std::string bytes = unpacked(packed);
  if (const auto image = ElfImage::of_memory(std::as_bytes(std::span(bytes)))) collect(*image, SHT_SYMTAB);
}

// Of several names of one place the one with a size, then the first.
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

// A symbol without a size reaches to the next one.
const ElfSymbols::Symbol *ElfSymbols::symbol_at(uint64_t address) const {
  auto after =
      std::upper_bound(symbols_.begin(), symbols_.end(), address, [](uint64_t at, const Symbol &s) { return at < s.address; });
  // One may lie within another: those before it that are long enough hold the address too.
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
