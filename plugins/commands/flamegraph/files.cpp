// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/flamegraph/files.h"

#include <atalaya/plugin.hpp>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "core/base/files.h"
#include "plugins/shared/analysis/flamegraph/files/folded.h"

namespace atalaya::flamegraph {
namespace {

// Maximum length of a line; longer lines are malformed.
constexpr size_t kMaxLine = size_t{16} << 20;

// Reads a line of limited length; false at the end.
bool next_line(std::istream &in, std::string &line) {
  line.clear();
  std::streambuf &bytes = *in.rdbuf();
  for (int c = bytes.sbumpc(); c != std::istream::traits_type::eof(); c = bytes.sbumpc()) {
    if (c == '\n') return true;
    if (line.size() < kMaxLine) line += static_cast<char>(c);
  }
  return !line.empty();
}

}  // namespace

void add_folded(Tree &tree, Side side, std::istream &in, const std::string &name) {
  std::string line;
  size_t number = 0;
  size_t stacks = 0;
  size_t strange = 0;
  size_t first_strange = 0;
  while (next_line(in, line)) {
    ++number;
    const auto found = line.size() < kMaxLine ? parse_folded(line) : std::nullopt;
    if (found) {
      ++stacks;
      if (found->value > 0) tree.add(tree.add_stack(found->stack), side, found->value);
    } else if (line.find_first_not_of(" \t\r") != std::string::npos && ++strange == 1) {
      first_strange = number;
    }
  }
  if (strange == 0) return;
  const std::string message = name + ":" + std::to_string(first_strange) + ": not a folded stack (\"a;b;c 12\")";
  if (stacks == 0) throw Failure(Code::permanent, message);
  std::fprintf(stderr, "%s; lines skipped: %zu\n", message.c_str(), strange);
}

void add_folded_file(Tree &tree, Side side, const std::string &path) {
  if (path == "-") {
    std::ios::sync_with_stdio(false);
    return add_folded(tree, side, std::cin, "standard input");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Failure(Code::permanent, path + ": " + core::error_text(errno));
  add_folded(tree, side, in, path);
}

}  // namespace atalaya::flamegraph
