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
  // The descriptor, or the memory, must outlive this. Nothing: not an ELF file of this machine's byte order, or it has more
  // sections or segments than a linker makes.
  static std::optional<ElfImage> of_file(int file);
  static std::optional<ElfImage> of_memory(std::span<const std::byte> bytes);

  Elf *raw() const { return elf_.get(); }
  // The section's raw bytes; empty: missing, too large or damaged.
  std::string_view section(std::string_view name) const;
  std::string_view section_bytes(Elf_Scn *section) const;
  // Its data, translated by libelf; null: as above.
  Elf_Data *section_data(Elf_Scn *section) const;
  // Empty: none.
  std::string_view name_of(Elf_Scn *section) const;
  std::string build_id() const;  // as bytes; empty: none
  // The file that .gnu_debuglink names; empty: none.
  std::string debug_link() const;

 private:
  struct End {
    void operator()(Elf *elf) const;
  };
  Elf_Scn *find(std::string_view name) const;
  bool may_read(uint64_t bytes) const;
  explicit ElfImage(Elf *elf) : elf_(elf) {}
  static std::optional<ElfImage> checked(Elf *elf);
  bool has_bounded_names() const;

  std::unique_ptr<Elf, End> elf_;
  mutable uint64_t left_ = kMaxRead;
};

// The loaded segments of the file.
class Segments {
 public:
  explicit Segments(const ElfImage &image);
  // The file's own address for a file offset; nothing: not loaded.
  std::optional<uint64_t> address_of(uint64_t file_offset) const;
  // The file offset for an address; nothing: not loaded.
  std::optional<uint64_t> offset_of(uint64_t address) const;

 private:
  struct Segment {
    uint64_t offset, size, address;
  };
  std::vector<Segment> segments_;
};

}  // namespace atalaya::symbols
