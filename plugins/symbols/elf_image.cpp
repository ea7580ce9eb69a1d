// SPDX-License-Identifier: Apache-2.0
#include "plugins/symbols/elf_image.h"

#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <libelf.h>

#include <algorithm>

namespace atalaya::symbols {

void ElfImage::End::operator()(Elf *elf) const {
  elf_end(elf);
}

std::optional<ElfImage> ElfImage::of_file(int file) {
  elf_version(EV_CURRENT);
  return checked(elf_begin(file, ELF_C_READ, nullptr));
}

std::optional<ElfImage> ElfImage::of_memory(std::span<const std::byte> bytes) {
  elf_version(EV_CURRENT);
  // Nothing is written to it with the commands used here.
  return checked(elf_memory(reinterpret_cast<char *>(const_cast<std::byte *>(bytes.data())), bytes.size()));
}

std::optional<ElfImage> ElfImage::checked(Elf *elf) {
  ElfImage image(elf);
  if (elf == nullptr || elf_kind(elf) != ELF_K_ELF) return std::nullopt;
  return image;
}

std::string_view section_bytes(Elf_Scn *section) {
  GElf_Shdr header;
  if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS || header.sh_size > kMaxSection) return {};
  const Elf_Data *data = elf_rawdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return {};
  return {static_cast<const char *>(data->d_buf), data->d_size};
}

std::string_view ElfImage::section(std::string_view name) const {
  size_t names = 0;
  if (elf_getshdrstrndx(raw(), &names) != 0) return {};
  for (Elf_Scn *section = nullptr; (section = elf_nextscn(raw(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char *text = elf_strptr(raw(), names, header.sh_name);
    if (text != nullptr && name == text) return section_bytes(section);
  }
  return {};
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
