// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/net/text.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace atalaya::net {
namespace {

bool is_mapped(const uint8_t (&address)[16]) {
  constexpr std::array<uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(kMapped.begin(), kMapped.end(), address);
}

bool is_any(const uint8_t (&address)[16]) {
  const uint8_t *from = is_mapped(address) ? address + 12 : address;
  return std::all_of(from, address + 16, [](uint8_t byte) { return byte == 0; });
}

constexpr int kFieldsToStart = 20;  // after the name: state is the first, starttime the twentieth

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

std::optional<uint64_t> start_ticks(std::string_view stat) {
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  stat.remove_prefix(name_end + 1);
  for (int field = 1;; ++field) {
    const size_t begin = stat.find_first_not_of(' ');
    if (begin == std::string_view::npos) return std::nullopt;
    stat.remove_prefix(begin);
    if (field == kFieldsToStart) break;
    stat.remove_prefix(std::min(stat.find(' '), stat.size()));
  }
  uint64_t ticks = 0;
  const auto [end, error] = std::from_chars(stat.data(), stat.data() + stat.size(), ticks);
  return error == std::errc() ? std::optional(ticks) : std::nullopt;
}

std::string_view name_in(std::string_view stat) {
  const size_t begin = stat.find('('), end = stat.rfind(')');
  return begin == std::string_view::npos || end == std::string_view::npos || end < begin ? std::string_view()
                                                                                         : stat.substr(begin + 1, end - begin - 1);
}

}  // namespace atalaya::net
