// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace atalaya::jvm {

// The class name without the numbers and addresses of lambdas and hidden classes, so that it is equal in all JVMs.
// "T$$Lambda$14/0x00007f7a30000a08" and "T$$Lambda/0x00007f" become "T$$Lambda"; "T/0x0000000800c03000" becomes "T". A part of
// `name`.
std::string_view plain_type(std::string_view name);

// Class and method of a Java frame of a stack: "void org.shop.Cart.add(int)_[j]" and "org.shop.Cart.add_[j]" are "Cart.add". A part
// of `frame`. A frame without the mark "_[j]" or "_[i]" is returned unchanged.
std::string_view class_and_method(std::string_view frame);

}  // namespace atalaya::jvm
