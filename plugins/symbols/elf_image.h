// SPDX-License-Identifier: Apache-2.0
// An ELF file in libelf's hands. Read, never mapped: a file that shrinks while it is mapped ends the reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

struct Elf;
struct Elf_Scn;

namespace atalaya::symbols {

// Of a section; a larger one is as if it were not there.
inline constexpr uint64_t kMaxSection = uint64_t{128} << 20;

class ElfImage {
 public:
  // The descriptor, or the memory, has to outlive this. Nothing: it is no ELF file, or has more sections than a linker makes.
  static std::optional<ElfImage> of_file(int file);
  static std::optional<ElfImage> of_memory(std::span<const std::byte> bytes);

  Elf *raw() const { return elf_.get(); }
  // The section's bytes as they are in the file; empty: there is none.
  std::string_view section(std::string_view name) const;
  // How large it says that the section is; nothing: there is none.
  std::optional<uint64_t> section_size(std::string_view name) const;
  std::string build_id() const;  // as bytes; empty: none
  // The file that .gnu_debuglink names; empty: none.
  std::string debug_link() const;

 private:
  struct End {
    void operator()(Elf *elf) const;
  };
  Elf_Scn *find(std::string_view name) const;
  explicit ElfImage(Elf *elf) : elf_(elf) {}
  static std::optional<ElfImage> checked(Elf *elf);
  bool has_bounded_names() const;

  std::unique_ptr<Elf, End> elf_;
};

// The data of a section; empty when it is too large or damaged.
std::string_view section_bytes(Elf_Scn *section);

}  // namespace atalaya::symbols
