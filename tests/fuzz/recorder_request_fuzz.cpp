// SPDX-License-Identifier: Apache-2.0
// Requests to a recorder, and its answers.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "plugins/filters/recorder/trigger_socket.h"

using namespace atalaya::recorder;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  if (const auto request = parse_request(text)) {
    const auto again = parse_request(request_text(*request));
    if (request->cause.size() > kMaxRequest || !again || again->last_ns != request->last_ns) std::abort();
  }
  if (const auto answer = parse_answer(text)) {
    const auto again = parse_answer(answer_text(*answer));
    if (!again || again->from_ns != answer->from_ns || again->until_ns != answer->until_ns) std::abort();
  }
  return 0;
}
