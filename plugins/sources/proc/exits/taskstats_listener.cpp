// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/exits/taskstats_listener.h"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/taskstats.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <limits>
#include <string_view>

#include "core/base/files.h"
#include "core/base/now.h"

namespace atalaya::proc {
namespace {

// A message has at most two records, of half a KiB each in version 16.
constexpr size_t kMessageBytes = 4096;
constexpr size_t kMessages = 32;          // received at once
constexpr size_t kMaxReceives = 1 << 13;  // per drain: a constant stream of exits must not block the pass
constexpr uint16_t kFirstVersionWithProcesses = 12;
constexpr uint64_t kStartTolerance_ns = 1'000'000'000;
constexpr int64_t kSecond_ns = 1'000'000'000;
// The kernel's clock in seconds may lag by a tick.
constexpr int64_t kSecondsLag_ns = 10'000'000;

procfs::Name name_of_living(int32_t pid) {
  const core::Result<std::string> comm = core::read_file("/proc/" + std::to_string(pid) + "/comm", 4096);
  if (!comm.ok()) return {};
  const std::string_view text = comm.value();
  return procfs::Name(text.substr(0, text.rfind('\n')));
}

core::Error unavailable(std::string_view problem, int error, std::string_view advice) {
  return {"taskstats: " + std::string(problem) + ": " + core::error_text(error) + "; " + std::string(advice)};
}

Bytes bytes_of(const std::string &text) {
  return {reinterpret_cast<const std::byte *>(text.c_str()), text.size() + 1};
}

struct Request {
  nlmsghdr header;
  genlmsghdr command;
  nlattr attribute;
};
static_assert(sizeof(Request) == NLMSG_HDRLEN + GENL_HDRLEN + NLA_HDRLEN);

}  // namespace

core::Status TaskstatsListener::start() {
  stop();
  buffer_.resize(kMessages * kMessageBytes);
  for (const auto step : {&TaskstatsListener::open_socket, &TaskstatsListener::find_family, &TaskstatsListener::check_version,
                          &TaskstatsListener::listen, &TaskstatsListener::check_arrival}) {
    core::Status status = (this->*step)();
    if (!status) {
      stop();
      return status;
    }
  }
  drained_ns_ = pass_ns_ = core::clock_ns(CLOCK_BOOTTIME);
  return core::Done{};
}

void TaskstatsListener::stop() {
  // Unsubscribes, else the kernel would send to the next socket with this address.
  if (!cpus_.empty())
    request(family_, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_DEREGISTER_CPUMASK, bytes_of(cpus_), [](const NetlinkMessage &) {});
  cpus_.clear();
  socket_.reset();
  drops_ = 0;
}

core::Status TaskstatsListener::open_socket() {
  socket_ = core::Descriptor(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_GENERIC));
  if (!socket_) return unavailable("no netlink socket", errno, "allow AF_NETLINK to this service, or use BPF");
  const int size = settings_.receive_buffer_bytes, on = 1;
  // Exceeding net.core.rmem_max takes CAP_NET_ADMIN, which is needed below anyway.
  if (::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) != 0)
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
  // The socket counts records without room; if it also returned an error for them, the kernel would stop sending.
  if (::setsockopt(socket_.get(), SOL_NETLINK, NETLINK_NO_ENOBUFS, &on, sizeof(on)) != 0)
    return unavailable("NETLINK_NO_ENOBUFS", errno, "use BPF");
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  if (::bind(socket_.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)) != 0)
    return unavailable("no netlink address", errno, "use BPF");
  return core::Done{};
}

core::Status TaskstatsListener::find_family() {
  family_ = 0;
  const int error = request(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, bytes_of(TASKSTATS_GENL_NAME),
                            [this](const NetlinkMessage &message) {
                              if (const auto family = family_of(message)) family_ = *family;
                            });
  if (family_ != 0) return core::Done{};
  return unavailable("not offered by this kernel", error, "use a kernel with CONFIG_TASKSTATS, or BPF");
}

// Querying this process also checks the permission.
core::Status TaskstatsListener::check_version() {
  const auto pid = static_cast<uint32_t>(::getpid());
  uint16_t version = 0;
  const int error = request(family_, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_PID, std::as_bytes(std::span(&pid, 1)),
                            [&version](const NetlinkMessage &message) {
                              if (const auto task = task_end(message.payload)) version = task->version;
                            });
  if (error != 0) return unavailable("refused", error, "run as root or with CAP_NET_ADMIN, in the host's user namespace");
  if (version >= kFirstVersionWithProcesses) return core::Done{};
  return core::Error{"taskstats: version " + std::to_string(version) +
                     " of this kernel does not distinguish processes from threads; use Linux 5.19 or later, or BPF"};
}

core::Status TaskstatsListener::listen() {
  const core::Result<std::string> possible = core::read_file("/sys/devices/system/cpu/possible", 4096);
  if (!possible.ok()) return core::Error{"taskstats: unknown CPUs: " + possible.error() + "; mount sysfs"};
  const std::string cpus = possible.value().substr(0, possible.value().find('\n'));
  const int error =
      request(family_, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, bytes_of(cpus), [](const NetlinkMessage &) {});
  if (error != 0)
    return unavailable("cannot listen on the CPUs " + cpus, error,
                       "run it in the host's user and pid namespaces, not in a container's");
  cpus_ = cpus;
  return core::Done{};
}

// In another network namespace everything succeeds, but the kernel sends to the owner of this address in the host's namespace. To
// check this, a thread ends here and its record must arrive.
core::Status TaskstatsListener::check_arrival() {
  pthread_t thread{};
  if (::pthread_create(
          &thread, nullptr, [](void *) -> void * { return nullptr; }, nullptr) != 0)
    return core::Done{};
  ::pthread_join(thread, nullptr);
  bool arrived = false;
  while (receive([&](const NetlinkMessage &message) { arrived = arrived || message.type == family_; })) {
  }
  if (arrived) return core::Done{};
  return core::Error{
      "taskstats: no records arrive; run it in the host's network namespace, not in a container's or with PrivateNetwork="};
}

// The kernel responds within the call, between records of threads that end meanwhile. Returns the errno of the response.
int TaskstatsListener::request(uint16_t type, uint8_t command, uint16_t attribute, Bytes value, const OnMessage &take) {
  Request head{};
  const size_t length = sizeof(head) + value.size();
  head.header = {.nlmsg_len = static_cast<uint32_t>(length),
                 .nlmsg_type = type,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
                 .nlmsg_seq = ++sequence_,
                 .nlmsg_pid = 0};
  head.command = {.cmd = command, .version = 1, .reserved = 0};
  head.attribute = {.nla_len = static_cast<uint16_t>(NLA_HDRLEN + value.size()), .nla_type = attribute};
  std::vector<std::byte> bytes(NLMSG_ALIGN(length));
  std::memcpy(bytes.data(), &head, sizeof(head));
  std::memcpy(bytes.data() + sizeof(head), value.data(), value.size());
  if (::send(socket_.get(), bytes.data(), bytes.size(), 0) < 0) return errno;
  int result = ENOMSG;
  while (receive([&](const NetlinkMessage &message) {
    if (message.sequence != sequence_) return;
    if (const auto answer = result_of(message))
      result = *answer;
    else
      take(message);
  })) {
  }
  return result;
}

// Receives available messages; false when there are no more.
bool TaskstatsListener::receive(const OnMessage &take) {
  std::array<iovec, kMessages> parts{};
  std::array<sockaddr_nl, kMessages> senders{};
  std::array<mmsghdr, kMessages> headers{};
  for (size_t i = 0; i < kMessages; ++i) {
    parts[i] = {buffer_.data() + i * kMessageBytes, kMessageBytes};
    headers[i].msg_hdr = {.msg_name = &senders[i], .msg_namelen = sizeof(senders[i]), .msg_iov = &parts[i], .msg_iovlen = 1};
  }
  const int count = ::recvmmsg(socket_.get(), headers.data(), kMessages, MSG_DONTWAIT, nullptr);
  if (count < 0) return errno == EINTR || errno == ENOBUFS;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    if (senders[i].nl_pid != 0) continue;  // not from the kernel
    Bytes datagram(buffer_.data() + i * kMessageBytes, headers[i].msg_len);
    NetlinkMessage message;
    while (next_message(datagram, message)) take(message);
    if (!datagram.empty()) ++errors_.malformed;
  }
  return static_cast<size_t>(count) == kMessages;
}

void TaskstatsListener::drain(const NameOf &name_of, const Callback &take) {
  if (!socket_) return;
  start_drain();
  const ThreadSums::Callback add_ended = [this](const ProcessEnd &end) {
    Ended &ended = ended_.emplace_back();
    ended.parent = end.parent;
    ended.named = end.named;
    procfs::ProcessReading &last = ended.reading.last;
    last.pid = end.pid;
    last.kernel_thread = end.kernel_thread;
    last.name = end.name;
    last.start_ns = start_of(end);
    last.counters = end.counters;
    last.io_basis = end.threaded ? procfs::kIoSinceStart : procfs::kIoOfMainThread;
  };
  const auto take_message = [&](const NetlinkMessage &message) {
    if (message.type != family_) return;
    if (const auto end = task_end(message.payload))
      sums_.add(*end, add_ended);
    else
      ++errors_.malformed;
  };
  for (size_t i = 0; i < kMaxReceives && receive(take_message); ++i) {
  }
  sums_.finish(add_ended);
  count_lost();
  add_names(name_of);
  for (const Ended &ended : ended_) take(ended.reading);
}

void TaskstatsListener::start_drain() {
  ended_.clear();
  previous_drain_ns_ = drained_ns_;
  drained_ns_ = core::clock_ns(CLOCK_BOOTTIME);
  boot_ns_ = core::realtime() - drained_ns_;
  const int64_t suspended = drained_ns_ - core::monotonic();
  suspended_ns_ = static_cast<uint64_t>(std::max<int64_t>(suspended, 0));
}

void TaskstatsListener::count_lost() {
  std::array<uint32_t, SK_MEMINFO_VARS> info{};
  socklen_t size = sizeof(info);
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_MEMINFO, info.data(), &size) != 0) return;
  errors_.lost += info[SK_MEMINFO_DROPS] - drops_;  // modulo 2^32, as the kernel counts
  drops_ = info[SK_MEMINFO_DROPS];
}

// Estimates the start. The process ended after the last drain and within the second of its record; the estimate is the middle of
// that interval minus the lifetime. If the process may have started after the last pass, it is assumed to have: the start of an
// older process comes from its last reading (see `matches`). If the intervals do not overlap (the clock was set), the start is
// unknown.
uint64_t TaskstatsListener::start_of(const ProcessEnd &end) const {
  const int64_t second_ns = end.end_s * kSecond_ns - boot_ns_;
  const int64_t first = std::max(previous_drain_ns_, second_ns);
  const int64_t last = std::min(core::clock_ns(CLOCK_BOOTTIME), second_ns + kSecond_ns + kSecondsLag_ns);
  const int64_t lived_ns = static_cast<int64_t>(end.elapsed_us) * 1000;
  const int64_t start_ns = first + (last - first) / 2 - lived_ns;
  if (first > last || start_ns < 0) return 0;
  return static_cast<uint64_t>(std::max(start_ns, std::min(pass_ns_, last - lived_ns)));
}

// Finds the names of parents. No pass may have seen a parent yet, in long windows; it may have ended, too. So the ended processes
// are searched and then /proc. Siblings follow one another, which saves most reads.
void TaskstatsListener::add_names(const NameOf &name_of) {
  std::pair<int32_t, procfs::Name> living{0, {}};
  by_pid_.clear();
  for (size_t i = 0; i < ended_.size(); ++i) by_pid_.emplace_back(ended_[i].reading.last.pid, static_cast<uint32_t>(i));
  std::sort(by_pid_.begin(), by_pid_.end());
  for (Ended &ended : ended_) {
    ended.reading.parent = name_of(ended.parent);
    ended.reading.parent_pid = ended.parent;
    if (ended.reading.parent.text().empty()) ended.reading.parent = name_of_ended(ended.parent);
    if (ended.reading.parent.text().empty()) {
      if (living.first != ended.parent) living = {ended.parent, name_of_living(ended.parent)};
      ended.reading.parent = living.second;
    }
    if (ended.named) continue;
    if (const procfs::Name known = name_of(ended.reading.last.pid); !known.text().empty()) ended.reading.last.name = known;
  }
}

procfs::Name TaskstatsListener::name_of_ended(int32_t pid) const {
  const auto found = std::lower_bound(by_pid_.begin(), by_pid_.end(), std::pair(pid, uint32_t{0}));
  return found == by_pid_.end() || found->first != pid ? procfs::Name() : ended_[found->second].reading.last.name;
}

bool matches(uint64_t start_ns, const ExitReading &exit, uint64_t suspended_ns) {
  if (exit.last.start_ns == 0) return true;
  return start_ns <= exit.last.start_ns + kStartTolerance_ns && start_ns + suspended_ns + kStartTolerance_ns >= exit.last.start_ns;
}

}  // namespace atalaya::proc
