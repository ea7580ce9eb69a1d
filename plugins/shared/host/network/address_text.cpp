// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/network/address_text.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace atalaya::network {
namespace {

bool is_mapped(const uint8_t (&address)[16]) {
  constexpr std::array<uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(kMapped.begin(), kMapped.end(), address);
}

bool is_any(const uint8_t (&address)[16]) {
  const uint8_t *from = is_mapped(address) ? address + 12 : address;
  return std::all_of(from, address + 16, [](uint8_t byte) { return byte == 0; });
}

}  // namespace

AddressText::AddressText(const uint8_t (&address)[16], uint16_t port) {
  const bool bracket = port != 0 && !is_mapped(address) && !is_any(address);
  if (bracket) text_[size_++] = '[';
  if (is_any(address))
    text_[size_] = '*';
  else if (is_mapped(address))
    ::inet_ntop(AF_INET, address + 12, &text_[size_], INET_ADDRSTRLEN);
  else
    ::inet_ntop(AF_INET6, address, &text_[size_], INET6_ADDRSTRLEN);
  size_ += std::strlen(&text_[size_]);
  if (bracket) text_[size_++] = ']';
  if (port == 0) return;
  text_[size_++] = ':';
  size_ = static_cast<size_t>(std::to_chars(&text_[size_], text_.data() + text_.size(), port).ptr - text_.data());
}

}  // namespace atalaya::network
