// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/symbols/demangle.h"

#include <doctest/doctest.h>

#include <string>

namespace atalaya::symbols {

TEST_CASE("names of C++ are written without parameters") {
  CHECK(demangled("_ZN4shop4Cart6thirtyEi") == "shop::Cart::thirty");
  CHECK(demangled("_ZNK1a1bclEv") == "a::b::operator()");
  CHECK(demangled("_ZN12_GLOBAL__N_11fEi") == "(anonymous namespace)::f");
  CHECK(demangled("_ZN1a1fEv.part.0") == "a::f");
  CHECK(demangled("main") == "main");
  CHECK(demangled("_Znotmangled") == "_Znotmangled");
}

TEST_CASE("names of Rust lose their hash") {
  CHECK(demangled("_ZN4core3fmt5write17h0123456789abcdefE") == "core::fmt::write");
  CHECK(demangled("_RNvMs_NtCs1234_7mycrate3fooNtB4_3Bar3baz") == "<mycrate::foo::Bar>::baz");
  CHECK(demangled("_Rnotmangled") == "_Rnotmangled");
}

TEST_CASE("a short name that expands to gigabytes stays unchanged") {
  std::string name = "_Z1f1AIiiE";
  for (const char digit : std::string("0123456789ABCDEFGHIJKLMNOPQRST")) {
    const std::string part = {'S', digit, '_'};
    name.append("S_I").append(part).append(part).append("E");
  }
  REQUIRE(name.size() == 310);
  CHECK(demangled(name) == name);
  CHECK(demangled("_Z" + std::string(5000, 'x')).size() == 512);
}

TEST_CASE("only the list of parameters is cut") {
  CHECK(without_parameters("a::b(int) const") == "a::b");
  CHECK(without_parameters("a::operator()(int)") == "a::operator()");
  CHECK(without_parameters("a::operator()") == "a::operator()");
  CHECK(without_parameters("x<void (int)>") == "x<void (int)>");
  CHECK(without_parameters("f(void (*)(int))") == "f");
  CHECK(without_parameters("(") == "(");
  CHECK(without_parameters(")") == ")");
  CHECK(without_parameters("()") == "()");
}

}  // namespace atalaya::symbols
