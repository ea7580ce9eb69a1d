// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/launcher/launcher_messages.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace atalaya::core {
namespace {

constexpr size_t kMaxFds = 8;

union Ancillary {
  cmsghdr header;
  char bytes[CMSG_SPACE(kMaxFds * sizeof(int))];
};

}  // namespace

bool send_with_fds(int socket, const void *data, size_t size, const int *fds, size_t count) {
  iovec part{const_cast<void *>(data), size};
  Ancillary ancillary{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (count > 0) {
    message.msg_control = ancillary.bytes;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds, count * sizeof(int));
  }
  for (;;) {
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent >= 0 || errno != EINTR) return sent == static_cast<ssize_t>(size);
  }
}

long receive_with_fds(int socket, void *data, size_t size, int *fds, size_t &count) {
  iovec part{data, size};
  Ancillary ancillary{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = ancillary.bytes;
  message.msg_controllen = sizeof(ancillary.bytes);
  ssize_t got = -1;
  do {
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  size_t taken = 0;
  const cmsghdr *header = got < 0 ? nullptr : CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    const size_t came = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < came; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      if (taken < count)
        fds[taken++] = fd;
      else
        ::close(fd);
    }
  }
  count = taken;
  return got;
}

}  // namespace atalaya::core
