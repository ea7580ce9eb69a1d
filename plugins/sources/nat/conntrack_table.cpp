// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/nat/conntrack_table.h"

#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <span>
#include <string>

namespace atalaya::nat {
namespace {

constexpr size_t kAnswerBytes = size_t{64} << 10;
constexpr timeval kTimeout{5, 0};

core::Error failure(int error) {
  std::string text = "cannot list the tracked connections (ctnetlink): " + core::error_text(error);
  if (error == EPERM) text += "; run as root or with CAP_NET_ADMIN";
  if (error == EAFNOSUPPORT) text += "; allow it with RestrictAddressFamilies=AF_NETLINK in the service's unit";
  return {std::move(text)};
}

}  // namespace

bool tracks_connections() {
  return ::access("/proc/sys/net/netfilter/nf_conntrack_count", F_OK) == 0;
}

core::Status ConntrackTable::open() {
  socket_ = core::Descriptor(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER));
  if (!socket_ || ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &kTimeout, sizeof(kTimeout)) != 0) return failure(errno);
  buffer_.resize(kAnswerBytes);
  return core::Done{};
}

core::Status ConntrackTable::query() {
  struct {
    nlmsghdr header;
    nfgenmsg family;
  } message{};
  message.header.nlmsg_len = sizeof(message);
  message.header.nlmsg_type = NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET;
  message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  message.family.nfgen_family = AF_UNSPEC;
  message.family.version = NFNETLINK_V0;
  if (::send(socket_.get(), &message, sizeof(message), 0) < 0) return failure(errno);
  return core::Done{};
}

core::Status ConntrackTable::read(const std::function<void(const Connection &)> &take) {
  if (core::Status opened = open(); !opened)
    return opened;  // a new socket for each list: an old one may still have messages of an aborted list
  if (core::Status queried = query(); !queried) return queried;
  for (;;) {
    const ssize_t size = ::recv(socket_.get(), buffer_.data(), buffer_.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return failure(errno);
    const ListProgress end = parse_connections(std::span(buffer_).first(static_cast<size_t>(size)), take);
    if (end.error != 0) return failure(end.error);
    if (end.done) return core::Done{};
  }
}

}  // namespace atalaya::nat
