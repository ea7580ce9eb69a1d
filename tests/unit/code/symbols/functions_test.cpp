// SPDX-License-Identifier: Apache-2.0
// Where a function begins in a real file: the test's own program, with its names and after they have been removed.
#include <doctest/doctest.h>
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "core/base/files.h"
#include "plugins/shared/code/symbols/functions.h"
#include "plugins/shared/code/symbols/process/process_memory.h"
#include "tests/unit/temporary_folder.h"

namespace atalaya::symbols {

extern "C" __attribute__((noinline)) int a_plain_function_of_the_test(int value) {
  return value * 5 + 1;
}

__attribute__((noinline)) int overloaded_in_the_test(int value) {
  return value * 7;
}
__attribute__((noinline)) double overloaded_in_the_test(double value) {
  return value * 7.5;
}

struct InTheTest {
  __attribute__((noinline, used)) int operator+(int value) const { return value + own; }
  int own = 1;
};

namespace {

std::string own_path() {
  std::array<char, 4096> space{};
  const ssize_t size = ::readlink("/proc/self/exe", space.data(), space.size());
  REQUIRE(size > 0);
  return {space.data(), static_cast<size_t>(size)};
}

core::Result<FoundFunction> find(const std::string &path, std::string_view name) {
  const core::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(file);
  return find_function(file.get(), path, name);
}

// Where the running program has it.
uint64_t offset_of(uint64_t address) {
  ProcessMemory memory(::getpid());
  REQUIRE(memory.refresh(*read_mark(::getpid())));
  const Mapping *mapping = memory.maps().at(address);
  REQUIRE(mapping != nullptr);
  return address - mapping->begin + mapping->offset;
}

bool run(const std::string &command) {
  return std::system(command.c_str()) == 0;  // NOLINT(cert-env33-c): binutils on the test's own files
}

}  // namespace

TEST_CASE("a function is found by the name in the table, and by the one people write") {
  const auto plain = find(own_path(), "a_plain_function_of_the_test");
  REQUIRE(plain);
  CHECK(plain.value().offset == offset_of(reinterpret_cast<uint64_t>(&a_plain_function_of_the_test)));
  CHECK(plain.value().size > 0);
  const uint64_t whole = offset_of(reinterpret_cast<uint64_t>(static_cast<int (*)(int)>(&overloaded_in_the_test)));
  CHECK(find(own_path(), "_ZN7atalaya7symbols22overloaded_in_the_testEi").value().offset == whole);
  CHECK(InTheTest{} + 2 == 3);
  CHECK(find(own_path(), "atalaya::symbols::InTheTest::operator+").ok());
}

TEST_CASE("several functions of a name are distinguished by the names of the table") {
  const auto several = find(own_path(), "atalaya::symbols::overloaded_in_the_test");
  REQUIRE_FALSE(several);
  CHECK(several.error().starts_with("2 functions \"atalaya::symbols::overloaded_in_the_test\" in " + own_path() + ": "));
  CHECK(several.error().find("_ZN7atalaya7symbols22overloaded_in_the_testEd") != std::string::npos);
  CHECK(several.error().ends_with("; use the name in the symbol table, or the address"));
  // As in the error, and the only way with static functions of C.
  const size_t at = several.error().find(" at 0x") + 4;
  const std::string address = several.error().substr(at, several.error().find_first_of(",;", at) - at);
  const auto by_address = find(own_path(), address);
  REQUIRE(by_address);
  const std::string mangled = "_ZN7atalaya7symbols22overloaded_in_the_testE";
  CHECK((by_address.value().offset == find(own_path(), mangled + "i").value().offset ||
         by_address.value().offset == find(own_path(), mangled + "d").value().offset));
  CHECK(find(own_path(), "0x1").error().starts_with("no function \"0x1\" in "));
}

TEST_CASE("a missing name: similar names") {
  const auto near = find(own_path(), "overloaded_in_the_test");
  REQUIRE_FALSE(near);
  CHECK(near.error() ==
        "no function \"overloaded_in_the_test\" in " + own_path() + "; similar: \"atalaya::symbols::overloaded_in_the_test\"");
  const auto none = find(own_path(), "no_such_function_anywhere");
  REQUIRE_FALSE(none);
  CHECK(none.error() == "no function \"no_such_function_anywhere\" in " + own_path() +
                            "; `nm -C` lists the functions; inlined functions are missing");
  CHECK_FALSE(find(own_path(), ""));
}

TEST_CASE("a stripped file, and one with its debug data") {
  if (!run("command -v objcopy >/dev/null && command -v xz >/dev/null")) {
    MESSAGE("skipped: no binutils");
    return;
  }
  const testing::TemporaryFolder folder;
  const std::string stripped = folder / "stripped", debug = folder / "debug", packed = folder / "packed",
                    linked = folder / "linked";
  REQUIRE(run("strip -o " + stripped + " " + own_path()));
  REQUIRE(run("objcopy --only-keep-debug " + own_path() + " " + debug));
  REQUIRE(run("objcopy --strip-debug " + debug + " && xz -k -0 " + debug));
  REQUIRE(run("objcopy --add-section .gnu_debugdata=" + debug + ".xz " + stripped + " " + packed));
  REQUIRE(run("cd " + folder.path() + " && objcopy --add-gnu-debuglink=debug stripped linked"));

  const std::string name = "a_plain_function_of_the_test";
  const auto bare = find(stripped, name);
  REQUIRE_FALSE(bare);
  CHECK(bare.error() ==
        "no function \"" + name + "\" in " + stripped +
            ", which has only exported names (or too many): install its debug symbols, or build it without stripping it");
  const uint64_t offset = find(own_path(), name).value().offset;
  CHECK(find(packed, name).value().offset == offset);
  CHECK(find(linked, name).value().offset == offset);
}

TEST_CASE("files that are no program") {
  const testing::TemporaryFolder folder;
  REQUIRE(run("echo no program > " + (folder / "text")));
  const auto text = find(folder / "text", "main");
  REQUIRE_FALSE(text);
  CHECK(text.error() == (folder / "text") + " is not a program or library (ELF) for this machine");
}

TEST_CASE("a function that is chosen when the program starts is none to probe") {
  std::string library;
  for (const char *path : {"/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6"})
    if (::access(path, R_OK) == 0) library = path;
  if (library.empty()) {
    MESSAGE("skipped: no C library where Debian has it");
    return;
  }
  const auto chosen = find(library, "memcpy");
  REQUIRE_FALSE(chosen);  // an IFUNC, or one a version
  CHECK(find(library, "getpid"));
}

TEST_CASE("an address and its place in the file") {
  const core::Descriptor file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const auto image = ElfImage::of_file(file.get());
  REQUIRE(image);
  const Segments segments(*image);
  size_t functions = 0;
  REQUIRE(for_each_function(*image, SHT_SYMTAB, [&](const Function &function) {
    const auto offset = segments.offset_of(function.address);
    if (offset && segments.address_of(*offset) == function.address) ++functions;
    return functions < 100;
  }));
  CHECK(functions == 100);
  CHECK_FALSE(segments.offset_of(UINT64_MAX));
}

}  // namespace atalaya::symbols
