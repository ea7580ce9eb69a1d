// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/tail/content_mark.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "core/base/encode/crc32c.h"

namespace atalaya::tail {
namespace {

constexpr int64_t kLastLine = 1 << 20;

}  // namespace

Mark mark_of(std::string_view bytes) {
  return {static_cast<uint32_t>(bytes.size()), core::crc32c(bytes)};
}

std::string bytes_at(int fd, int64_t offset, int64_t size) {
  std::string bytes(static_cast<size_t>(size), '\0');
  size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t n = ::pread(fd, bytes.data() + got, bytes.size() - got, offset + static_cast<int64_t>(got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += static_cast<size_t>(n);
  }
  bytes.resize(got);
  return bytes;
}

Mark head_of(int fd, int64_t offset) {
  return mark_of(bytes_at(fd, 0, std::min(offset, kMarkBytes)));
}

Mark tail_of(int fd, int64_t offset) {
  const int64_t size = std::min(offset, kMarkBytes);
  return mark_of(bytes_at(fd, offset - size, size));
}

bool matches(int fd, const Position &position) {
  return mark_of(bytes_at(fd, 0, position.head.size)) == position.head &&
         mark_of(bytes_at(fd, position.offset - position.tail.size, position.tail.size)) == position.tail;
}

bool is_compressed(int fd) {
  using namespace std::literals;
  static constexpr std::array kMagics = {"\x1f\x8b"sv,         "BZh"sv,      "\xfd\x37zXZ\0"sv, "\x28\xb5\x2f\xfd"sv,
                                         "\x04\x22\x4d\x18"sv, "\x1f\x9d"sv, "PK\x03\x04"sv};
  const std::string head = bytes_at(fd, 0, 6);
  return std::any_of(kMagics.begin(), kMagics.end(), [&](std::string_view magic) { return head.starts_with(magic); });
}

int64_t last_line_begin(int fd, int64_t size) {
  const int64_t from = std::max(int64_t{0}, size - kLastLine);
  const std::string bytes = bytes_at(fd, from, size - from);
  const size_t newline = bytes.rfind('\n');
  if (newline != std::string::npos) return from + static_cast<int64_t>(newline) + 1;
  return from == 0 ? 0 : size;
}

}  // namespace atalaya::tail
