// SPDX-License-Identifier: Apache-2.0
// Real files: the test's own program, with its names and after they have been removed.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

#include "core/base/files.h"
#include "plugins/shared/code/symbols/elf_files.h"
#include "plugins/shared/code/symbols/process/process_memory.h"
#include "tests/unit/temporary_folder.h"

namespace atalaya::symbols {

// With a separate name in the program's table.
__attribute__((noinline)) int a_function_to_be_found(int value) {
  return value * 3 + 1;
}

namespace {

struct Offset {
  uint64_t in_file;
  std::string path;
};

Offset here() {
  ProcessMemory memory(::getpid());
  REQUIRE(memory.refresh(*read_mark(::getpid())));
  const auto address = reinterpret_cast<uint64_t>(&a_function_to_be_found);
  const Mapping *mapping = memory.maps().at(address);
  REQUIRE(mapping != nullptr);
  return {address - mapping->begin + mapping->offset, mapping->path};
}

ElfSymbols symbols_of(const std::string &path) {
  const core::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto image = ElfImage::of_file(file.get());
  REQUIRE(image);
  return ElfSymbols(*image);
}

bool run(const std::string &command) {
  return std::system(command.c_str()) == 0;  // NOLINT(cert-env33-c): binutils on the test's own files
}

}  // namespace

TEST_CASE("a function is found by its place in the file") {
  const Offset at = here();
  ElfSymbols symbols = symbols_of(at.path);
  CHECK(symbols.find(at.in_file) == "atalaya::symbols::a_function_to_be_found");
  CHECK(symbols.find(at.in_file + 1) == "atalaya::symbols::a_function_to_be_found");
  CHECK(symbols.find(uint64_t{1} << 60).empty());
  CHECK_FALSE(symbols.stripped());
}

TEST_CASE("names come from .gnu_debugdata, and from a debug file of the same build") {
  if (!run("command -v objcopy >/dev/null && command -v xz >/dev/null")) {
    MESSAGE("skipped: no binutils");
    return;
  }
  const testing::TemporaryFolder folder;
  const Offset at = here();
  const std::string stripped = folder.path() + "/stripped", debug = folder.path() + "/debug", packed = folder.path() + "/packed";
  REQUIRE(run("strip -o " + stripped + " " + at.path));
  REQUIRE(run("objcopy --only-keep-debug " + at.path + " " + debug));
  REQUIRE(run("objcopy --strip-debug " + debug + " && xz -k -0 " + debug));
  REQUIRE(run("objcopy --add-section .gnu_debugdata=" + debug + ".xz " + stripped + " " + packed));

  ElfSymbols bare = symbols_of(stripped);
  CHECK(bare.stripped());
  CHECK(bare.find(at.in_file).empty());
  CHECK(symbols_of(packed).find(at.in_file) == "atalaya::symbols::a_function_to_be_found");
  const core::Descriptor file(::open(debug.c_str(), O_RDONLY | O_CLOEXEC));
  bare.add(*ElfImage::of_file(file.get()));
  CHECK(bare.find(at.in_file) == "atalaya::symbols::a_function_to_be_found");
}

TEST_CASE("another file is no ELF file, and its process has no names from it") {
  const testing::TemporaryFolder folder;
  REQUIRE(run("head -c 4096 /dev/zero > " + folder.path() + "/x"));
  const core::Descriptor file(::open((folder.path() + "/x").c_str(), O_RDONLY | O_CLOEXEC));
  CHECK_FALSE(ElfImage::of_file(file.get()));
}

TEST_CASE("a file that has to make room has no names until the next window") {
  ProcessMemory memory(::getpid());
  REQUIRE(memory.refresh(*read_mark(::getpid())));
  ElfFiles files(0);
  const auto own = reinterpret_cast<uint64_t>(&a_function_to_be_found);
  const auto other = reinterpret_cast<uint64_t>(::dlsym(RTLD_DEFAULT, "getpid"));
  CHECK(memory.find(own, files).name == "atalaya::symbols::a_function_to_be_found");
  CHECK(files.bytes() > 0);
  CHECK_FALSE(memory.find(other, files).name.empty());
  const size_t of_other = files.bytes();
  CHECK(memory.find(own, files).name.empty());
  CHECK(files.bytes() == of_other);
  files.next_window();
  CHECK(files.bytes() == 0);
  CHECK(memory.find(own, files).name == "atalaya::symbols::a_function_to_be_found");
}

TEST_CASE("a new file under the number and the name of an old one yields no names for it") {
  const testing::TemporaryFolder folder;
  const Offset at = here();
  const std::string copy = folder.path() + "/copy";
  REQUIRE(run("cp " + at.path + " " + copy));
  const core::Descriptor file(::open(copy.c_str(), O_RDWR | O_CLOEXEC));
  const size_t size = 16 << 20;
  void *code = ::mmap(nullptr, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get(), 0);
  REQUIRE(code != MAP_FAILED);
  ProcessMemory memory(::getpid());
  REQUIRE(memory.refresh(*read_mark(::getpid())));
  ::munmap(code, size);
  const uint64_t address = reinterpret_cast<uint64_t>(code) + at.in_file;
  ElfFiles before(size_t{64} << 20);
  CHECK(memory.find(address, before).name == "atalaya::symbols::a_function_to_be_found");
  // The same number and the same bytes, only written later.
  REQUIRE(::futimens(file.get(), nullptr) == 0);
  ElfFiles after(size_t{64} << 20);
  CHECK(memory.find(address, after).name.empty());
  CHECK(memory.find(address, before).name == "atalaya::symbols::a_function_to_be_found");
}

namespace {

// A file that is mapped as code as long as this lives.
class Mapped {
 public:
  explicit Mapped(const std::string &path) {
    const core::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    code_ = ::mmap(nullptr, kSize, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get(), 0);
    REQUIRE(code_ != MAP_FAILED);
  }
  Mapped(const Mapped &) = delete;
  Mapped &operator=(const Mapped &) = delete;
  ~Mapped() { ::munmap(code_, kSize); }
  uint64_t at(uint64_t offset) const { return reinterpret_cast<uint64_t>(code_) + offset; }

 private:
  static constexpr size_t kSize = 16 << 20;
  void *code_ = MAP_FAILED;
};

constexpr std::string_view kPlanted = " --redefine-sym _ZN7atalaya7symbols22a_function_to_be_foundEi=planted ";

}  // namespace

TEST_CASE("a file with the build id of another file names only itself") {
  if (!run("command -v objcopy >/dev/null")) {
    MESSAGE("skipped: no binutils");
    return;
  }
  const testing::TemporaryFolder folder;
  const Offset at = here();
  const std::string real = folder.path() + "/real", other = folder.path() + "/other";
  REQUIRE(run("objcopy -g " + at.path + " " + real + " && objcopy -g" + std::string(kPlanted) + at.path + " " + other));
  const Mapped first(other), second(real);
  ProcessMemory memory(::getpid());
  REQUIRE(memory.refresh(*read_mark(::getpid())));
  ElfFiles files(size_t{256} << 20);
  CHECK(memory.find(first.at(at.in_file), files).name == "planted");
  CHECK(memory.find(second.at(at.in_file), files).name == "atalaya::symbols::a_function_to_be_found");
}

TEST_CASE("a debug file in the folder of a program names it if it belongs to the same owner") {
  if (!run("command -v objcopy >/dev/null")) {
    MESSAGE("skipped: no binutils");
    return;
  }
  const testing::TemporaryFolder folder;
  const Offset at = here();
  const std::string stripped = folder.path() + "/stripped", debug = folder.path() + "/x.debug";
  REQUIRE(run("objcopy --only-keep-debug" + std::string(kPlanted) + at.path + " " + debug));
  REQUIRE(run("strip -o " + stripped + " " + at.path + " && objcopy --add-gnu-debuglink=" + debug + " " + stripped));
  const Mapped code(stripped);
  ProcessMemory memory(::getpid());
  REQUIRE(memory.refresh(*read_mark(::getpid())));
  ElfFiles files(size_t{256} << 20);
  CHECK(memory.find(code.at(at.in_file), files).name == "planted");
  if (::chown(debug.c_str(), 65534, 65534) != 0) {
    MESSAGE("skipped in part: only root");
    return;
  }
  ElfFiles others(size_t{256} << 20);
  CHECK(memory.find(code.at(at.in_file), others).name.empty());
}

TEST_CASE("a file that claims more sections than fit in its header is none") {
  const testing::TemporaryFolder folder;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_version = EV_CURRENT;
  header.e_shoff = sizeof(header);
  header.e_shentsize = sizeof(Elf64_Shdr);
  std::string bytes(reinterpret_cast<const char *>(&header), sizeof(header));
  bytes.resize(4096);
  CHECK_FALSE(ElfImage::of_memory(std::as_bytes(std::span(bytes))));
}

TEST_CASE("the kernel's code in every process has names") {
  ProcessMemory memory(::getpid());
  REQUIRE(memory.refresh(*read_mark(::getpid())));
  ElfFiles files(size_t{64} << 20);
  for (const Mapping &mapping : memory.maps().mappings()) {
    if (mapping.path != "[vdso]") continue;
    bool named = false;
    for (uint64_t at = mapping.begin; at < mapping.end; at += 16) named = named || !memory.find(at, files).name.empty();
    CHECK(named);
    Mapping of_others = mapping;
    of_others.end += 4096;
    CHECK(files.name_in_vdso(of_others, mapping.begin + 0xa00).empty());
    of_others.begin = 0xf7fc0000;
    of_others.end = of_others.begin + (mapping.end - mapping.begin);
    for (uint64_t at = of_others.begin; at < of_others.end; at += 16) CHECK(files.name_in_vdso(of_others, at).empty());
  }
}

}  // namespace atalaya::symbols
