// SPDX-License-Identifier: Apache-2.0
// An ELF file in libelf's hands. Read, never mapped: a file that shrinks while it is mapped ends the reader.
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

// Of one file altogether; a section that goes beyond it is as if it were not there.
inline constexpr uint64_t kMaxRead = uint64_t{128} << 20;

class ElfImage {
 public:
  // The descriptor, or the memory, has to outlive this. Nothing: it is no ELF file of this machine's byte order, or has more
  // sections or segments than a linker makes.
  static std::optional<ElfImage> of_file(int file);
  static std::optional<ElfImage> of_memory(std::span<const std::byte> bytes);

  Elf *raw() const { return elf_.get(); }
  // The section's bytes as they are in the file; empty: there is none, it is too large, or damaged.
  std::string_view section(std::string_view name) const;
  std::string_view section_bytes(Elf_Scn *section) const;
  // Its data as libelf has it; null: as above.
  Elf_Data *section_data(Elf_Scn *section) const;
  // Empty: it has none.
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

// Where the file's parts are loaded.
class Segments {
 public:
  explicit Segments(const ElfImage &image);
  // Where an offset of the file is in its own addresses; nothing: it is not loaded from there.
  std::optional<uint64_t> address_of(uint64_t file_offset) const;
  // Where in the file lies what is loaded there.
  std::optional<uint64_t> offset_of(uint64_t address) const;

 private:
  struct Segment {
    uint64_t offset, size, address;
  };
  std::vector<Segment> segments_;
};

}  // namespace atalaya::symbols
