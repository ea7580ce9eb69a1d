// SPDX-License-Identifier: Apache-2.0
// An ELF file, opened with libelf. It is read, never mapped: a mapped file that shrinks would crash the reader.
#pragma once

#include <libelf.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::symbols {

// Maximum bytes read of one file; sections beyond it are ignored.
inline constexpr uint64_t kMaxRead = uint64_t{128} << 20;

class ElfImage {
 public:
  // Opens a file or memory, which must outlive the image. Nothing if it is not an ELF file of this machine's byte order, or has
  // more sections or segments than a linker creates.
  static std::optional<ElfImage> of_file(int file);
  static std::optional<ElfImage> of_memory(std::span<const std::byte> bytes);

  Elf *raw() const { return elf_.get(); }
  // The section's raw bytes; empty: missing, too large or damaged.
  std::string_view section(std::string_view name) const;
  std::string_view section_bytes(Elf_Scn *section) const;
  // The section's data in host byte order, by libelf; null if it is missing, too large or damaged.
  Elf_Data *section_data(Elf_Scn *section) const;
  std::string_view name_of(Elf_Scn *section) const;  // "" if it has none
  std::string build_id() const;                      // as bytes; "" if there is none
  // The name of the debug file in .gnu_debuglink; "" if there is none.
  std::string debug_link() const;

 private:
  struct Close {
    void operator()(Elf *elf) const;
  };
  Elf_Scn *find(std::string_view name) const;
  bool may_read(uint64_t bytes) const;
  explicit ElfImage(Elf *elf) : elf_(elf) {}
  static std::optional<ElfImage> checked(Elf *elf);
  bool has_bounded_names() const;

  std::unique_ptr<Elf, Close> elf_;
  mutable uint64_t remaining_ = kMaxRead;  // bytes that may still be read
};

// The loaded segments of the file.
class Segments {
 public:
  explicit Segments(const ElfImage &image);
  // The virtual address (p_vaddr) of a file offset; nothing if it is not loaded.
  std::optional<uint64_t> address_of(uint64_t file_offset) const;
  // The file offset of a virtual address; nothing if it is not loaded.
  std::optional<uint64_t> offset_of(uint64_t address) const;

 private:
  struct Segment {
    uint64_t offset, size, address;
  };
  std::vector<Segment> segments_;
};

}  // namespace atalaya::symbols
