// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/procfs/start_events.h"

#include <arpa/inet.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/base/now.h"

namespace atalaya::procfs {
namespace {

constexpr size_t kWhat = NLMSG_HDRLEN + sizeof(cn_msg);
constexpr size_t kExecProcess = kWhat + offsetof(proc_event, event_data.exec.process_tgid);
constexpr size_t kForkParent = kWhat + offsetof(proc_event, event_data.fork.parent_tgid);
constexpr size_t kForkThread = kWhat + offsetof(proc_event, event_data.fork.child_pid);
constexpr size_t kForkProcess = kWhat + offsetof(proc_event, event_data.fork.child_tgid);
constexpr int kReceiveBytes = 1 << 20;
constexpr int64_t kAnswerWithin = 1'000'000'000;

// Kernel headers before 6.6 have these names in proc_event, later ones outside it.
constexpr uint32_t kAnswer = 0, kFork = 1, kExec = 2;

core::Error unavailable(int error) {
  return {"no events of new programs: " + core::error_text(error)};
}

// The kernel passes on the selected events and the answer to the subscription only; the fork of a thread is not one of a process.
// A filter reads numbers in network order.
int filter_events(int socket, bool forks) {
  const uint32_t fork = htonl(forks ? kFork : kExec);
  std::array<sock_filter, 10> program{{{BPF_LD | BPF_W | BPF_ABS, 0, 0, kWhat},
                                       {BPF_JMP | BPF_JEQ | BPF_K, 6, 0, htonl(kExec)},
                                       {BPF_JMP | BPF_JEQ | BPF_K, 5, 0, htonl(kAnswer)},
                                       {BPF_JMP | BPF_JEQ | BPF_K, 0, 5, fork},
                                       {BPF_LD | BPF_W | BPF_ABS, 0, 0, kForkThread},
                                       {BPF_MISC | BPF_TAX, 0, 0, 0},
                                       {BPF_LD | BPF_W | BPF_ABS, 0, 0, kForkProcess},
                                       {BPF_JMP | BPF_JEQ | BPF_X, 0, 1, 0},
                                       {BPF_RET | BPF_K, 0, 0, UINT32_MAX},
                                       {BPF_RET | BPF_K, 0, 0, 0}}};
  const sock_fprog filter{program.size(), program.data()};
  return ::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
}

// Kernels before 6.6 send events until each subscriber has unsubscribed, even if its socket is closed.
int request(int socket, proc_cn_mcast_op operation, uint32_t number) {
  std::array<char, NLMSG_SPACE(sizeof(cn_msg) + sizeof(proc_cn_mcast_op))> request{};
  nlmsghdr header{.nlmsg_len = NLMSG_LENGTH(sizeof(cn_msg) + sizeof(proc_cn_mcast_op)),
                  .nlmsg_type = NLMSG_DONE,
                  .nlmsg_flags = 0,
                  .nlmsg_seq = 0,
                  .nlmsg_pid = 0};
  cn_msg message{};
  message.id = {CN_IDX_PROC, CN_VAL_PROC};
  message.len = sizeof(proc_cn_mcast_op);
  message.ack = number;
  std::memcpy(request.data(), &header, sizeof(header));
  std::memcpy(request.data() + NLMSG_HDRLEN, &message, sizeof(message));
  std::memcpy(request.data() + NLMSG_HDRLEN + sizeof(message), &operation, sizeof(operation));
  return ::send(socket, request.data(), header.nlmsg_len, 0) < 0 ? -1 : 0;
}

// Receives a message; nothing if none is waiting. A message that another process sent is empty. Events that the kernel dropped
// because the buffer was full are skipped.
std::optional<std::span<const std::byte>> receive(int socket, std::span<std::byte> buffer) {
  sockaddr_nl sender{};
  socklen_t length = sizeof(sender);
  ssize_t size = -1;
  do {
    size = ::recvfrom(socket, buffer.data(), buffer.size(), 0, reinterpret_cast<sockaddr *>(&sender), &length);
  } while (size < 0 && (errno == ENOBUFS || errno == EINTR));
  if (size < 0) return std::nullopt;
  return buffer.first(sender.nl_pid == 0 ? static_cast<size_t>(size) : 0);
}

// The kernel answers a subscription with an errno, and not at all outside the host's namespaces. All subscribers get the answers to
// all: the kernel returns the number of the request plus 1.
int answer_to_subscription(int socket, uint32_t number) {
  const int64_t until = core::monotonic() + kAnswerWithin;
  pollfd wanted{socket, POLLIN, 0};
  std::array<std::byte, 512> buffer;
  for (int64_t left = kAnswerWithin; left > 0; left = until - core::monotonic()) {
    if (::poll(&wanted, 1, static_cast<int>(left / 1'000'000) + 1) <= 0) continue;
    const auto message = receive(socket, buffer);
    cn_msg header{};
    proc_event event{};
    if (!message || message->size() < kWhat + sizeof(event)) continue;
    std::memcpy(&header, message->data() + NLMSG_HDRLEN, sizeof(header));
    std::memcpy(&event, message->data() + kWhat, sizeof(event));
    if (event.what == kAnswer && header.ack == number + 1) return static_cast<int>(event.event_data.ack.err);
  }
  return ETIMEDOUT;
}

}  // namespace

std::optional<StartEvent> start_event(std::span<const std::byte> message) {
  if (message.size() < kForkProcess + sizeof(int32_t)) return {};
  const auto number = [&](size_t offset) {
    int32_t value = 0;
    std::memcpy(&value, message.data() + offset, sizeof(value));
    return value;
  };
  const auto what = static_cast<uint32_t>(number(kWhat));
  StartEvent event;
  if (what == kExec) event = {.process = number(kExecProcess)};
  if (what == kFork && number(kForkThread) == number(kForkProcess))
    event = {.process = number(kForkProcess), .parent = number(kForkParent)};
  if (event.process <= 0 || event.parent < 0) return {};
  return event;
}

core::Status StartEvents::start(bool forks) {
  stop();
  socket_ = core::Descriptor(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR));
  if (!socket_) return unavailable(errno);
  const auto number = static_cast<uint32_t>(core::monotonic());
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = CN_IDX_PROC;
  (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBytes, sizeof(kReceiveBytes));
  const bool is_sent = filter_events(socket_.get(), forks) == 0 &&
                       ::bind(socket_.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)) == 0 &&
                       request(socket_.get(), PROC_CN_MCAST_LISTEN, number) == 0;
  const int error = is_sent ? answer_to_subscription(socket_.get(), number) : errno;
  if (error == 0) return core::Done{};
  stop();
  return unavailable(error);
}

void StartEvents::stop() {
  if (socket_) request(socket_.get(), PROC_CN_MCAST_IGNORE, 0);
  socket_.reset();
}

void StartEvents::read(std::vector<StartEvent> &events) {
  std::array<std::byte, 512> buffer;
  while (const auto message = receive(socket_.get(), buffer))
    if (const auto event = start_event(*message)) events.push_back(*event);
}

}  // namespace atalaya::procfs
