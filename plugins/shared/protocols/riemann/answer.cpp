// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/riemann/answer.h"

#include <riemann/riemann-client.h>

#include <memory>
#include <vector>

#include "core/base/text/safe_text.h"

namespace atalaya::protocols {
namespace {

constexpr size_t kMaxWords = 500;

struct Free {
  void operator()(riemann_message_t *message) const { riemann_message_free(message); }
};

}  // namespace

uint32_t length_of(std::span<const unsigned char, 4> header) {
  uint32_t length = 0;
  for (const unsigned char byte : header) length = length << 8 | byte;
  return length;
}

std::optional<Answer> read_answer(std::string_view body) {
  if (body.empty() || body.size() > kMaxAnswerLength) return std::nullopt;
  std::vector<uint8_t> bytes(body.begin(), body.end());  // the library needs non-constant bytes
  const std::unique_ptr<riemann_message_t, Free> message(riemann_message_from_buffer(bytes.data(), bytes.size()));
  if (!message || message->has_ok == 0) return std::nullopt;
  Answer answer;
  answer.accepted = message->ok != 0;
  if (answer.accepted) return answer;
  const std::string_view server_message = message->error == nullptr ? std::string_view{} : message->error;
  core::append_visible(answer.server_message, server_message.substr(0, kMaxWords));
  if (answer.server_message.empty()) answer.server_message = "no explanation";
  return answer;
}

}  // namespace atalaya::protocols
