// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/symbols/elf_image.h"

#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace atalaya::symbols {
namespace {

constexpr uint64_t kMaxNote = 65536;

// libelf allocates memory for as many sections and segments as the file claims, which may exceed the memory for a sparse file.
// So files are rejected whose counts do not fit into the header.
bool has_bounded_tables(std::span<const std::byte> header) {
  const auto bounded = [header]<class Header>(Header read) {
    if (header.size() < sizeof(read)) return false;
    std::memcpy(&read, header.data(), sizeof(read));
    return (read.e_shoff == 0 || read.e_shnum != 0) && read.e_phnum != PN_XNUM;
  };
  static constexpr auto kOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  if (header.size() <= EI_DATA || static_cast<uint8_t>(header[EI_DATA]) != kOrder) return false;
  const bool wide = static_cast<uint8_t>(header[EI_CLASS]) == ELFCLASS64;
  return wide ? bounded(Elf64_Ehdr{}) : bounded(Elf32_Ehdr{});
}

// Empty: missing.
std::string build_id_in(Elf_Data *notes) {
  static constexpr std::string_view kOwner("GNU\0", 4);
  GElf_Nhdr note;
  size_t name = 0, bytes = 0;
  for (size_t at = 0; notes != nullptr && (at = gelf_getnote(notes, at, &note, &name, &bytes)) > 0;) {
    const char *text = static_cast<const char *>(notes->d_buf);
    if (note.n_type == NT_GNU_BUILD_ID && std::string_view(text + name, note.n_namesz) == kOwner)
      return {text + bytes, note.n_descsz};
  }
  return {};
}

}  // namespace

void ElfImage::Close::operator()(Elf *elf) const {
  elf_end(elf);
}

std::optional<ElfImage> ElfImage::of_file(int file) {
  std::array<std::byte, sizeof(Elf64_Ehdr)> header{};
  const ssize_t size = ::pread(file, header.data(), header.size(), 0);
  if (size <= 0 || !has_bounded_tables(std::span(header).first(static_cast<size_t>(size)))) return std::nullopt;
  elf_version(EV_CURRENT);
  return checked(elf_begin(file, ELF_C_READ, nullptr));
}

std::optional<ElfImage> ElfImage::of_memory(std::span<const std::byte> bytes) {
  if (!has_bounded_tables(bytes)) return std::nullopt;
  elf_version(EV_CURRENT);
  // The commands used here do not write to it.
  return checked(elf_memory(reinterpret_cast<char *>(const_cast<std::byte *>(bytes.data())), bytes.size()));
}

std::optional<ElfImage> ElfImage::checked(Elf *elf) {
  ElfImage image(elf);
  if (elf == nullptr || elf_kind(elf) != ELF_K_ELF || !image.has_bounded_names()) return std::nullopt;
  return image;
}

// libelf reads the whole table of section names.
bool ElfImage::has_bounded_names() const {
  static constexpr uint64_t kMaxNames = uint64_t{8} << 20;
  size_t names = 0;
  GElf_Shdr header;
  if (elf_getshdrstrndx(raw(), &names) != 0 || names == 0) return true;
  return gelf_getshdr(elf_getscn(raw(), names), &header) == nullptr || header.sh_size <= kMaxNames;
}

bool ElfImage::may_read(uint64_t bytes) const {
  if (bytes > remaining_) return false;
  remaining_ -= bytes;
  return true;
}

Elf_Data *ElfImage::section_data(Elf_Scn *section) const {
  GElf_Shdr header;
  const bool good = gelf_getshdr(section, &header) != nullptr && header.sh_type != SHT_NOBITS && may_read(header.sh_size);
  return good ? elf_getdata(section, nullptr) : nullptr;
}

std::string_view ElfImage::section_bytes(Elf_Scn *section) const {
  GElf_Shdr header;
  if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS || !may_read(header.sh_size)) return {};
  const Elf_Data *data = elf_rawdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return {};
  return {static_cast<const char *>(data->d_buf), data->d_size};
}

std::string_view ElfImage::name_of(Elf_Scn *section) const {
  size_t names = 0;
  GElf_Shdr header;
  if (elf_getshdrstrndx(raw(), &names) != 0 || gelf_getshdr(section, &header) == nullptr) return {};
  const char *text = elf_strptr(raw(), names, header.sh_name);
  return text == nullptr ? std::string_view() : text;
}

Elf_Scn *ElfImage::find(std::string_view name) const {
  for (Elf_Scn *section = nullptr; (section = elf_nextscn(raw(), section)) != nullptr;)
    if (name_of(section) == name) return section;
  return nullptr;
}

std::string_view ElfImage::section(std::string_view name) const {
  Elf_Scn *section = find(name);
  return section != nullptr ? section_bytes(section) : std::string_view();
}

// Bounded, because libdw would read notes of any size. Uses segments if there is no section table.
std::string ElfImage::build_id() const {
  for (Elf_Scn *section = nullptr; (section = elf_nextscn(raw(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_NOTE || header.sh_size > kMaxNote) continue;
    if (std::string id = build_id_in(section_data(section)); !id.empty()) return id;
  }
  size_t segments = 0;
  if (elf_getphdrnum(raw(), &segments) != 0) return {};
  for (size_t i = 0; i < segments; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(raw(), static_cast<int>(i), &header) == nullptr) break;
    if (header.p_type != PT_NOTE || header.p_filesz > kMaxNote || !may_read(header.p_filesz)) continue;
    const Elf_Type type = header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR;
    Elf_Data *notes = elf_getdata_rawchunk(raw(), static_cast<int64_t>(header.p_offset), header.p_filesz, type);
    if (std::string id = build_id_in(notes); !id.empty()) return id;
  }
  return {};
}

std::string ElfImage::debug_link() const {
  const std::string_view bytes = section(".gnu_debuglink");
  return std::string(bytes.substr(0, std::min(bytes.find('\0'), bytes.size())));
}

Segments::Segments(const ElfImage &image) {
  size_t headers = 0;
  if (elf_getphdrnum(image.raw(), &headers) != 0) headers = 0;
  for (size_t i = 0; i < headers; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(image.raw(), static_cast<int>(i), &header) == nullptr) break;
    if (header.p_type == PT_LOAD) segments_.push_back({header.p_offset, header.p_filesz, header.p_vaddr});
  }
}

std::optional<uint64_t> Segments::address_of(uint64_t file_offset) const {
  for (const Segment &segment : segments_)
    if (file_offset >= segment.offset && file_offset - segment.offset < segment.size)
      return file_offset - segment.offset + segment.address;
  return std::nullopt;
}

std::optional<uint64_t> Segments::offset_of(uint64_t address) const {
  for (const Segment &segment : segments_)
    if (address >= segment.address && address - segment.address < segment.size) return address - segment.address + segment.offset;
  return std::nullopt;
}

}  // namespace atalaya::symbols
