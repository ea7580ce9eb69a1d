// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "plugins/shared/code/symbols/kernel_symbols.h"
#include "plugins/shared/code/symbols/process/memory_map.h"

namespace atalaya::symbols {

TEST_CASE("code is found by its address") {
  const auto mappings = parse_maps(
      "00400000-00401000 r--p 00000000 fe:01 12 /bin/x\n"
      "00401000-00402000 r-xp 00001000 fe:01 12                 /opt/a b/x (deleted)\n"
      "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
      "7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0          [vdso]\n");
  REQUIRE(mappings.size() == 3);
  const Mapping *found = find_mapping(mappings, 0x401fff);
  REQUIRE(found != nullptr);
  CHECK(found->path == "/opt/a b/x (deleted)");
  CHECK(found->offset == 0x1000);
  CHECK(found->file == FileId{uint64_t{0xfe} << 32 | 1, 12});
  CHECK(found->is_file());
  CHECK(find_mapping(mappings, 0x400500) == nullptr);
  CHECK(find_mapping(mappings, 0x402000) == nullptr);
  CHECK(find_mapping(mappings, 0) == nullptr);
  CHECK_FALSE(find_mapping(mappings, 0x7f0000000010)->is_file());
  CHECK(find_mapping(mappings, 0x7ffd00000001)->path == "[vdso]");
}

TEST_CASE("memory with a name is no file") {
  const auto mappings = parse_maps("1000-2000 r-xs 00000000 00:01 99 /memfd:doublemapper (deleted)\n");
  REQUIRE(mappings.size() == 1);
  CHECK_FALSE(mappings[0].is_file());
}

TEST_CASE("lines that are not the kernel's are left out") {
  CHECK(parse_maps("").empty());
  CHECK(parse_maps("2000-1000 r-xp 0 0:0 0\n").empty());
  CHECK(parse_maps("1000-2000 r-xp 0 0:0\nzz\n\n").empty());
  CHECK(parse_maps("1000-2000 r-xp 00000000 fe:01 12 /cut").empty());
}

TEST_CASE("the kernel's functions reach to the next one") {
  const KernelSymbols symbols(
      "ffffffff81000000 T first\nffffffff81000000 T alias\nffffffff81000100 t second\nffffffff81000180 d data\n"
      "ffffffffc0000000 t in_module\t[module]\n");
  CHECK(symbols.find(0xffffffff81000000) == "first");
  CHECK(symbols.find(0xffffffff810000ff) == "first");
  CHECK(symbols.find(0xffffffff81000190) == "second");
  CHECK(symbols.find(0xffffffffc0000010) == "in_module");
  CHECK(symbols.find(0xffffffff80000000).empty());
  CHECK(symbols.find(0xffffffffff000000).empty());
}

TEST_CASE("a kernel that hides its addresses has no functions") {
  CHECK(KernelSymbols("0000000000000000 T first\n0000000000000000 T second\n").empty());
}

}  // namespace atalaya::symbols
