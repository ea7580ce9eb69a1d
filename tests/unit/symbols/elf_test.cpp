// SPDX-License-Identifier: Apache-2.0
// Real files: the test's own program, before and after its names have been taken away.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "plugins/symbols/elf_files.h"
#include "plugins/symbols/process_memory.h"
#include "tests/unit/temporary_folder.h"

namespace atalaya::symbols {

// With a name of its own in the program's table.
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
  const Mapping *mapping = memory.mapping_at(address);
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

TEST_CASE("what is no ELF file is none, and its process has no names from it") {
  const testing::TemporaryFolder folder;
  REQUIRE(run("head -c 4096 /dev/zero > " + folder.path() + "/x"));
  const core::Descriptor file(::open((folder.path() + "/x").c_str(), O_RDONLY | O_CLOEXEC));
  CHECK_FALSE(ElfImage::of_file(file.get()));
}

TEST_CASE("the cache keeps what fits, and a build once") {
  const testing::TemporaryFolder folder;
  const Offset at = here();
  ProcessMemory memory(::getpid());
  REQUIRE(memory.refresh(*read_mark(::getpid())));
  ElfFiles files(0);
  const auto address = reinterpret_cast<uint64_t>(&a_function_to_be_found);
  CHECK(memory.find(address, files).name == "atalaya::symbols::a_function_to_be_found");
  CHECK(files.bytes() > 0);
  files.trim();
  CHECK(files.bytes() == 0);
  CHECK(memory.find(address, files).name == "atalaya::symbols::a_function_to_be_found");
}

TEST_CASE("the kernel's code in every process has names") {
  ElfFiles files(1 << 20);
  CHECK((files.vdso() == nullptr || files.vdso()->bytes() > 0));
}

}  // namespace atalaya::symbols
