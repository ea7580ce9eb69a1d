// SPDX-License-Identifier: Apache-2.0
// Files that claim more data than there is memory: sparse, so that they cost their owner nothing.
#include <doctest/doctest.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "plugins/shared/code/symbols/elf_symbols.h"
#include "plugins/shared/code/symbols/unwind/unwind_table.h"
#include "tests/unit/temporary_folder.h"

namespace atalaya::symbols {
namespace {

constexpr uint64_t kFile = uint64_t{1} << 30;
constexpr uint64_t kData = uint64_t{1} << 20;  // where sections without bytes begin

struct Section {
  std::string name;
  uint32_t type;
  uint64_t size;
  uint32_t link = 0;
};

Elf64_Ehdr elf_header() {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(header);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  return header;
}

template <class T>
void append(std::string &out, const T &value) {
  out.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

std::string file_with(const std::vector<Elf64_Phdr> &segments, const std::vector<Section> &sections) {
  Elf64_Ehdr header = elf_header();
  std::string names(1, '\0'), table;
  append(table, Elf64_Shdr{});
  for (const Section &section : sections) {
    Elf64_Shdr entry{};
    entry.sh_name = static_cast<uint32_t>(names.size());
    entry.sh_type = section.type;
    entry.sh_offset = kData;
    entry.sh_size = section.size;
    entry.sh_link = section.link;
    entry.sh_entsize = section.type == SHT_SYMTAB ? sizeof(Elf64_Sym) : 0;
    entry.sh_addralign = 8;
    names += section.name;
    names += '\0';
    append(table, entry);
  }
  header.e_phoff = segments.empty() ? 0 : sizeof(header);
  header.e_phnum = static_cast<uint16_t>(segments.size());
  std::string parts;
  for (const Elf64_Phdr &segment : segments) append(parts, segment);
  Elf64_Shdr of_names{};
  of_names.sh_type = SHT_STRTAB;
  of_names.sh_offset = sizeof(header) + parts.size();
  of_names.sh_size = names.size();
  append(table, of_names);
  if (!sections.empty()) {
    header.e_shoff = of_names.sh_offset + names.size();
    header.e_shnum = static_cast<uint16_t>(sections.size() + 2);
    header.e_shstrndx = static_cast<uint16_t>(sections.size() + 1);
  }
  std::string bytes;
  append(bytes, header);
  return bytes + parts + names + table;
}

Elf64_Phdr segment(uint32_t type, uint64_t size) {
  Elf64_Phdr header{};
  header.p_type = type;
  header.p_offset = kData;
  header.p_filesz = size;
  return header;
}

uint64_t most_memory() {
  auto status = core::read_file("/proc/self/status", 65536);
  const size_t at = status ? status->find("VmPeak:") : std::string::npos;
  const size_t digit = at == std::string::npos ? at : status->find_first_of("0123456789", at);
  uint64_t kib = 0;
  if (digit != std::string::npos) std::from_chars(status->data() + digit, status->data() + status->size(), kib);
  return kib << 10;
}

// In a separate process: the maximum growth of its memory, in MiB.
int memory_for(const std::function<void()> &work) {
  const pid_t child = ::fork();
  if (child == 0) {
    const uint64_t before = most_memory();
    work();
    ::_exit(static_cast<int>(std::min<uint64_t>((most_memory() - before) >> 20 >> 2, 255)));
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status) * 4;
}

class SparseFile {
 public:
  explicit SparseFile(const std::string &begin) {
    file_ = core::Descriptor(::open((folder_.path() + "/x").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    REQUIRE(::pwrite(file_.get(), begin.data(), begin.size(), 0) == static_cast<ssize_t>(begin.size()));
    REQUIRE(::ftruncate(file_.get(), static_cast<off_t>(kFile)) == 0);
  }
  int symbols() const {
    return memory_for([this] {
      const auto image = ElfImage::of_file(file_.get());
      if (!image) return;
      image->build_id();
      image->debug_link();
      ElfSymbols symbols(*image);
    });
  }
  int unwinding() const {
    return memory_for([this] { UnwindTable::of_file(file_.get()); });
  }

 private:
  testing::TemporaryFolder folder_;
  core::Descriptor file_;
};

constexpr int kFew = 32, kLimit = 320;  // MiB

}  // namespace

TEST_CASE("notes of any size cost no memory") {
  const uint64_t rest = kFile - kData;
  CHECK(SparseFile(file_with({}, {{".note", SHT_NOTE, rest}})).symbols() < kFew);
  CHECK(SparseFile(file_with({segment(PT_NOTE, rest)}, {})).symbols() < kFew);
  CHECK(SparseFile(file_with({segment(PT_NOTE, rest)}, {{".text", SHT_PROGBITS, 0}})).symbols() < kFew);
}

TEST_CASE("the sizes of a file's tables have one limit in total") {
  const uint64_t rest = kFile - kData, much = uint64_t{100} << 20;
  CHECK(SparseFile(file_with({}, {{".symtab", SHT_SYMTAB, rest, 2}, {".strtab", SHT_STRTAB, rest}})).symbols() < kFew);
  std::vector<Section> many;
  many.push_back({".strtab", SHT_STRTAB, 1});
  for (int i = 0; i < 20; ++i) many.push_back({".symtab", SHT_SYMTAB, much, 1});
  CHECK(SparseFile(file_with({}, many)).symbols() < kLimit);
  CHECK(SparseFile(file_with({}, {{".symtab", SHT_SYMTAB, much, 2}, {".strtab", SHT_STRTAB, much}})).symbols() < kLimit);
  CHECK(SparseFile(file_with({}, {{".gnu_debugdata", SHT_PROGBITS, rest}, {".gnu_debuglink", SHT_PROGBITS, rest}})).symbols() <
        kFew);
}

TEST_CASE("a file that claims more segments than fit in its header is none") {
  Elf64_Ehdr header = elf_header();
  header.e_phoff = sizeof(header);
  header.e_phnum = PN_XNUM;
  header.e_shoff = sizeof(header);
  header.e_shnum = 1;
  Elf64_Shdr first{};
  first.sh_info = 15'000'000;
  std::string bytes;
  append(bytes, header);
  append(bytes, first);
  const SparseFile file(bytes);
  CHECK(file.symbols() < kFew);
  CHECK(file.unwinding() < kFew);
}

TEST_CASE("tables of unwinding of any size cost no memory") {
  const uint64_t rest = kFile - kData;
  // Together they are 1.
  CHECK(SparseFile(file_with({}, {{".eh_frame", SHT_PROGBITS, rest}, {".eh_frame_hdr", SHT_PROGBITS, 1 - rest}})).unwinding() <
        kFew);
  CHECK(SparseFile(file_with({}, {{".eh_frame", SHT_PROGBITS, 8}, {".eh_frame", SHT_PROGBITS, rest}})).unwinding() < kFew);
  CHECK(SparseFile(file_with({segment(PT_GNU_EH_FRAME, rest)}, {})).unwinding() < kFew);
  CHECK(SparseFile(file_with({segment(PT_GNU_EH_FRAME, 64)}, {{".eh_frame", SHT_NOBITS, 8}})).unwinding() < kFew);
  CHECK(SparseFile(file_with({segment(PT_GNU_EH_FRAME, 64)}, {{".eh_frame", SHT_PROGBITS, 64}})).unwinding() < kFew);
  CHECK(SparseFile(file_with({segment(PT_GNU_EH_FRAME, rest)}, {{".eh_frame", SHT_PROGBITS, 64}})).unwinding() < kFew);
}

}  // namespace atalaya::symbols
