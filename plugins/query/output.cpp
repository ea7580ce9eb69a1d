// SPDX-License-Identifier: Apache-2.0
#include "plugins/query/output.h"

#include <algorithm>
#include <atalaya/plugin.hpp>
#include <cerrno>
#include <cstdio>

#include "core/util/files.h"
#include "plugins/query/time_text.h"

namespace atalaya::query {

void write_output(const std::string &file, std::string_view bytes) {
  if (file.empty() || file == "-") {
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);
    return;
  }
  std::FILE *out = std::fopen(file.c_str(), "w");
  const bool written = out != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size();
  const bool closed = out != nullptr && std::fclose(out) == 0;
  if (!written || !closed) throw Failure(Code::permanent, "-o " + file + ": " + core::error_text(errno));
}

void say_nothing(const char *what, const Range &range) {
  std::fprintf(stderr, "no %s from %s to %s\n", what, time_text(range.from_ns).c_str(), time_text(range.to_ns).c_str());
}

std::string suffix_of(const std::string &file) {
  const size_t dot = file.rfind('.');
  if (dot == std::string::npos || file.find('/', dot) != std::string::npos) return "";
  std::string suffix = file.substr(dot + 1);
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return suffix;
}

}  // namespace atalaya::query
