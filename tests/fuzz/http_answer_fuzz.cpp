// SPDX-License-Identifier: Apache-2.0
// Responses of a server: the body, and as the header its first line.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "plugins/shared/io/http/client/words.h"
#include "plugins/sinks/http/answer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace atalaya::http_sink;
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  if (const auto points = refused_points(text))
    for (const RefusedPoint &point : *points)
      if (point.key.empty()) std::abort();
  static_cast<void>(point_key(text));
  if (atalaya::http_client::error_message(text).find('\n') != std::string::npos) std::abort();
  const int64_t wait = retry_after(text.substr(0, text.find('\n')), 784111777000000000);
  if (wait < 0 || wait > 300'000'000'000) std::abort();
  return 0;
}
