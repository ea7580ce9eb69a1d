// SPDX-License-Identifier: Apache-2.0
// Responses to a message of events: a length, and a message.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "plugins/shared/protocols/riemann/answer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace atalaya::protocols;
  if (size < 4) return 0;
  static_cast<void>(atalaya::protocols::length_of(std::span<const unsigned char, 4>(data, 4)));
  const auto answer = atalaya::protocols::read_answer({reinterpret_cast<const char *>(data) + 4, size - 4});
  if (!answer) return 0;
  if (answer->accepted != answer->server_message.empty() || answer->server_message.find('\n') != std::string::npos) std::abort();
  return 0;
}
