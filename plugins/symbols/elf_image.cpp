// SPDX-License-Identifier: Apache-2.0
#include "plugins/symbols/elf_image.h"

#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace atalaya::symbols {
namespace {

// libelf makes room for as many sections as the file says, which for a sparse file may be more than there is memory: those of a
// number that the header has no room for are left out.
bool has_few_sections(std::span<const std::byte> header) {
  const auto few = [header]<class Header>(Header read) {
    if (header.size() < sizeof(read)) return false;
    std::memcpy(&read, header.data(), sizeof(read));
    return read.e_shoff == 0 || read.e_shnum != 0;
  };
  const bool wide = header.size() > EI_CLASS && static_cast<uint8_t>(header[EI_CLASS]) == ELFCLASS64;
  return wide ? few(Elf64_Ehdr{}) : few(Elf32_Ehdr{});
}

}  // namespace

void ElfImage::End::operator()(Elf *elf) const {
  elf_end(elf);
}

std::optional<ElfImage> ElfImage::of_file(int file) {
  std::array<std::byte, sizeof(Elf64_Ehdr)> header{};
  const ssize_t size = ::pread(file, header.data(), header.size(), 0);
  if (size <= 0 || !has_few_sections(std::span(header).first(static_cast<size_t>(size)))) return std::nullopt;
  elf_version(EV_CURRENT);
  return checked(elf_begin(file, ELF_C_READ, nullptr));
}

std::optional<ElfImage> ElfImage::of_memory(std::span<const std::byte> bytes) {
  if (!has_few_sections(bytes)) return std::nullopt;
  elf_version(EV_CURRENT);
  // Nothing is written to it with the commands used here.
  return checked(elf_memory(reinterpret_cast<char *>(const_cast<std::byte *>(bytes.data())), bytes.size()));
}

std::optional<ElfImage> ElfImage::checked(Elf *elf) {
  ElfImage image(elf);
  if (elf == nullptr || elf_kind(elf) != ELF_K_ELF || !image.has_bounded_names()) return std::nullopt;
  return image;
}

// libelf reads the names of sections as a whole.
bool ElfImage::has_bounded_names() const {
  static constexpr uint64_t kMaxNames = uint64_t{8} << 20;
  size_t names = 0;
  GElf_Shdr header;
  if (elf_getshdrstrndx(raw(), &names) != 0 || names == 0) return true;
  return gelf_getshdr(elf_getscn(raw(), names), &header) == nullptr || header.sh_size <= kMaxNames;
}

std::string_view section_bytes(Elf_Scn *section) {
  GElf_Shdr header;
  if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS || header.sh_size > kMaxSection) return {};
  const Elf_Data *data = elf_rawdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return {};
  return {static_cast<const char *>(data->d_buf), data->d_size};
}

Elf_Scn *ElfImage::find(std::string_view name) const {
  size_t names = 0;
  if (elf_getshdrstrndx(raw(), &names) != 0) return nullptr;
  for (Elf_Scn *section = nullptr; (section = elf_nextscn(raw(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char *text = elf_strptr(raw(), names, header.sh_name);
    if (text != nullptr && name == text) return section;
  }
  return nullptr;
}

std::string_view ElfImage::section(std::string_view name) const {
  Elf_Scn *section = find(name);
  return section != nullptr ? section_bytes(section) : std::string_view();
}

std::optional<uint64_t> ElfImage::section_size(std::string_view name) const {
  GElf_Shdr header;
  Elf_Scn *section = find(name);
  return section != nullptr && gelf_getshdr(section, &header) != nullptr ? std::optional(header.sh_size) : std::nullopt;
}

std::string ElfImage::build_id() const {
  const void *bytes = nullptr;
  const ssize_t size = dwelf_elf_gnu_build_id(raw(), &bytes);
  return size > 0 ? std::string(static_cast<const char *>(bytes), static_cast<size_t>(size)) : std::string();
}

std::string ElfImage::debug_link() const {
  const std::string_view bytes = section(".gnu_debuglink");
  return std::string(bytes.substr(0, std::min(bytes.find('\0'), bytes.size())));
}

}  // namespace atalaya::symbols
