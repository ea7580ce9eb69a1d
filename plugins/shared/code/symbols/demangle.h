// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace atalaya::symbols {

// The name in source form: C++ without parameters, Rust (both mangling schemes) without its hash. Other names are returned
// unchanged.
std::string demangled(std::string_view name);

// The name without its list of parameters: "a::b(int) const" -> "a::b", "a::operator()(int)" -> "a::operator()".
std::string_view without_parameters(std::string_view name);

}  // namespace atalaya::symbols
