// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/net/diag/diag_backend.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <atalaya/plugin.hpp>

#include <cerrno>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/files.h"
#include "plugins/sources/net/diag/diag_messages.h"
#include "plugins/sources/net/socket_holders.h"

namespace atalaya::net {
namespace {

constexpr uint64_t kMissedWalks = 3;
constexpr size_t kAnswerBytes = size_t{64} << 10;
// Established, both FIN_WAITs, CLOSE_WAIT, LAST_ACK, LISTEN, CLOSING: include/net/tcp_states.h.
constexpr uint32_t kStates = 1u << 1 | 1u << 4 | 1u << 5 | 1u << 8 | 1u << 9 | 1u << 10 | 1u << 11;

class DiagBackend final : public Backend {
 public:
  explicit DiagBackend(core::Descriptor socket) : socket_(std::move(socket)), space_(own_network()) {}

  void walk(bool complete, const Callback &take) override {
    ++walk_;
    complete_ = complete;
    refreshed_ = false;
    for (const int family : {AF_INET, AF_INET6}) {
      query(static_cast<uint8_t>(family));
      receive([&](DiagSocket &socket) { report(socket, take); });
    }
  }
  // The last readings of sockets that are missing now. The kernel's list changes while it is read, so one walk may miss an
  // existing socket.
  void report_ends(const Callback &take, const OnBrief & /*on_brief*/) override {
    std::erase_if(known_, [&](const auto &entry) {
      if (walk_ - entry.second.walk < kMissedWalks) return false;
      net_record end = entry.second.record;
      end.kind = NET_CLOSED;
      end.flags |= NET_REPORTED;
      take(end);
      return true;
    });
  }
  void report_uses(const UseCallback & /*take*/) override {}
  Lost lost() const override { return {}; }
  bool sees_ends() const override { return false; }

 private:
  struct Known {
    net_record record{};
    uint64_t walk = 0;
    uint32_t inode = 0;
  };

  [[noreturn]] static void fail(int error) {
    throw Failure(Code::retry, "cannot list the sockets (sock_diag): " + core::error_text(error));
  }

  void query(uint8_t family) {
    struct {
      nlmsghdr header;
      inet_diag_req_v2 request;
    } message{};
    message.header.nlmsg_len = sizeof(message);
    message.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    message.request.sdiag_family = family;
    message.request.sdiag_protocol = IPPROTO_TCP;
    message.request.idiag_ext = 1 << (INET_DIAG_INFO - 1);
    message.request.idiag_states = kStates;
    if (::send(socket_.get(), &message, sizeof(message), 0) < 0) fail(errno);
  }

  template <class TakeSocket>
  void receive(const TakeSocket &take) {
    for (;;) {
      const ssize_t size = ::recv(socket_.get(), buffer_.data(), buffer_.size(), 0);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) fail(errno);
      const DiagProgress end =
          parse_diag_messages(std::span(buffer_).first(static_cast<size_t>(size)), [&](const DiagSocket &socket) {
            DiagSocket own = socket;
            take(own);
          });
      if (end.error != 0) fail(end.error);
      if (end.done) return;
    }
  }

  void report(DiagSocket &socket, const Callback &take) {
    net_record &record = socket.record;
    record.ends.space = space_;
    if (record.kind == NET_LISTENS) return take(record);
    const auto [at, fresh] = known_.try_emplace(record.cookie);
    Known &known = at->second;
    // A connection that the previous walk did not report started after it.
    record.flags = fresh ? (walk_ > 1 ? NET_START_SEEN | NET_ESTABLISHED : NET_ESTABLISHED) : known.record.flags;
    record.owner = known.record.owner;
    if (fresh || known.inode != socket.inode)
      find_owner(socket, false);
    else if (complete_)
      find_owner(socket, true);
    known.record = record;
    known.inode = socket.inode;
    known.walk = walk_;
    take(record);
  }

  // A socket without a holder still belongs to its last one. Holders change, and some may be unreadable: all are looked up again in
  // whole walks only, because that reads the files of every process.
  void find_owner(DiagSocket &socket, bool look_up) {
    if (socket.inode == 0) return;
    const net_owner *owner = look_up && !refreshed_ ? nullptr : holders_.find(socket.inode);
    if (owner == nullptr && !refreshed_) {
      holders_.refresh();
      refreshed_ = true;
      owner = holders_.find(socket.inode);
    }
    if (owner != nullptr) socket.record.owner = *owner;
  }

  core::Descriptor socket_;
  uint32_t space_;
  uint64_t walk_ = 0;
  bool refreshed_ = false, complete_ = false;  // in this walk
  SocketHolders holders_;
  std::unordered_map<uint64_t, Known> known_;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(kAnswerBytes);
};

}  // namespace

uint32_t own_network() {
  struct stat status {};
  return ::stat("/proc/self/ns/net", &status) == 0 ? static_cast<uint32_t>(status.st_ino) : 0;
}

core::Result<std::unique_ptr<Backend>> open_diag_backend() {
  core::Descriptor socket(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (socket) return std::unique_ptr<Backend>(std::make_unique<DiagBackend>(std::move(socket)));
  std::string text = "cannot query the sockets (sock_diag): " + core::error_text(errno);
  if (errno == EAFNOSUPPORT) text += "; allow it with RestrictAddressFamilies=AF_NETLINK in the service's unit";
  return core::Error{std::move(text)};
}

}  // namespace atalaya::net
