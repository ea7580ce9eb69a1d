// SPDX-License-Identifier: Apache-2.0
// The headers Accept and Accept-Encoding of a scraper.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "plugins/sinks/prometheus/negotiation.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace atalaya::prometheus;
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  const Form form = negotiate_form(text);
  // Blanks around the whole change nothing.
  if (negotiate_form(" " + std::string(text) + "\t") != form) std::abort();
  static_cast<void>(takes_gzip(text));
  return 0;
}
