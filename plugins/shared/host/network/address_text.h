// SPDX-License-Identifier: Apache-2.0
// Addresses as text.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace atalaya::network {

// The text of an IPv6 address, or of an IPv4-mapped one: "10.0.0.1", "fe80::1"; "*" for the unspecified address; with a port
// "10.0.0.1:80", "[fe80::1]:80".
class AddressText {
 public:
  explicit AddressText(const uint8_t (&address)[16], uint16_t port = 0);
  std::string_view text() const { return {text_.data(), size_}; }

 private:
  std::array<char, 64> text_{};
  size_t size_ = 0;
};

}  // namespace atalaya::network
