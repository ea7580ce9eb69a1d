// SPDX-License-Identifier: Apache-2.0
#include "plugins/query/plot/markup.h"

#include "core/sample/text.h"

namespace atalaya::plot {

std::string escaped(std::string_view text) {
  std::string visible;
  core::append_visible(visible, text);
  std::string out;
  for (const char c : visible) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace atalaya::plot
