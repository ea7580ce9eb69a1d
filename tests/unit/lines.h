// SPDX-License-Identifier: Apache-2.0
// Shows a list of lines one below the other when a check fails.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

template <>
struct doctest::StringMaker<std::vector<std::string>> {
  static String convert(const std::vector<std::string> &lines) {
    std::string text;
    for (const std::string &line : lines) text += "\n" + line;
    return text.c_str();
  }
};
