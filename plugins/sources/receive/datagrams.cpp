// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/receive/datagrams.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "core/base/now.h"

namespace atalaya::receive {
namespace {

constexpr size_t kDatagrams = 32;        // of one system call
constexpr size_t kDatagramSize = 65536;  // the maximum of UDP
constexpr int kSocketBuffer = 4 << 20;   // bytes; the limit net.core.rmem_max may be lower
constexpr int kLastCalls = 512;          // enough for a full socket
constexpr int64_t kNanosPerMilli = 1'000'000;

int64_t next_boundary(int64_t now_ns, int64_t window_ns) {
  return (now_ns / window_ns + 1) * window_ns;
}

}  // namespace

DatagramReader::DatagramReader(core::Descriptor socket, std::unique_ptr<protocols::DatagramProtocol> protocol, int64_t window_ns,
                               Deliver deliver, Dropped dropped)
    : socket_(std::move(socket)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      protocol_(std::move(protocol)),
      window_ns_(window_ns),
      deliver_(std::move(deliver)),
      dropped_(std::move(dropped)),
      start_ns_(core::realtime()) {
  const int on = 1;
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &kSocketBuffer, sizeof(kSocketBuffer));
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof(on));
  thread_ = std::thread([this] { run(); });
}

DatagramReader::~DatagramReader() {
  ::eventfd_write(wake_.get(), 1);
  thread_.join();
}

void DatagramReader::run() {
  std::array<pollfd, 2> waits{{{socket_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}}};
  int64_t end = next_boundary(start_ns_, window_ns_);
  for (;;) {
    const int64_t now = core::realtime();
    // A clock that was set back ends the window too, because times in the window would be wrong.
    if (now >= end || now < start_ns_) {
      end_window(now < start_ns_ ? start_ns_ : end);
      start_ns_ = now < start_ns_ ? now : end;
      end = next_boundary(now, window_ns_);
    }
    const int64_t wait = (end - now + kNanosPerMilli - 1) / kNanosPerMilli;
    if (::poll(waits.data(), waits.size(), static_cast<int>(std::clamp<int64_t>(wait, 0, 60'000))) < 0 && errno != EINTR) return;
    if ((waits[0].revents & POLLIN) != 0) read_all();
    if ((waits[1].revents & POLLIN) != 0) break;
  }
  for (int i = 0; i < kLastCalls && read_all(); ++i) {
  }
  end_window(core::realtime());
}

// The datagrams that one system call returns; poll() returns at once while there are more. False: there were none.
bool DatagramReader::read_all() {
  static thread_local std::vector<char> room(kDatagrams * kDatagramSize);
  std::array<mmsghdr, kDatagrams> headers{};
  std::array<iovec, kDatagrams> pieces{};
  std::array<std::array<char, CMSG_SPACE(sizeof(uint32_t))>, kDatagrams> controls{};
  for (size_t i = 0; i < kDatagrams; ++i) {
    pieces[i] = {room.data() + i * kDatagramSize, kDatagramSize};
    headers[i].msg_hdr = {nullptr, 0, &pieces[i], 1, controls[i].data(), controls[i].size(), 0};
  }
  const int count = ::recvmmsg(socket_.get(), headers.data(), kDatagrams, MSG_DONTWAIT, nullptr);
  for (size_t i = 0; i < static_cast<size_t>(std::max(count, 0)); ++i) {
    for (cmsghdr *control = CMSG_FIRSTHDR(&headers[i].msg_hdr); control != nullptr;
         control = CMSG_NXTHDR(&headers[i].msg_hdr, control)) {
      if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SO_RXQ_OVFL) continue;
      uint32_t lost = 0;
      std::memcpy(&lost, CMSG_DATA(control), sizeof(lost));
      add_losses(lost);
    }
    protocol_->add({static_cast<const char *>(pieces[i].iov_base), headers[i].msg_len});
  }
  return count > 0;
}

void DatagramReader::add_losses(uint32_t lost) {
  if (const uint32_t more = lost - lost_; more > 0) dropped_("datagrams that came faster than they were read", more);
  lost_ = lost;
}

void DatagramReader::end_window(int64_t now_ns) {
  for (const auto &[reason, values] : protocol_->refused()) dropped_(reason, values);
  if (auto window = protocol_->take(start_ns_, now_ns)) deliver_(std::move(*window));
}

}  // namespace atalaya::receive
