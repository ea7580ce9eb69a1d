// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/power/ipmi.h"

#include <fcntl.h>
#include <linux/ipmi.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <array>
#include <cerrno>

namespace atalaya::power {
namespace {

constexpr uint8_t kGroupExtension = 0x2c, kGetPowerReading = 0x02, kDcmi = 0xdc, kSystemPower = 0x01;
constexpr int kTimeoutMs = 1000;  // controllers are slow; after a timeout the next window retries
constexpr size_t kMaxAnswers = 16;

}  // namespace

core::Status DeviceIpmi::open(const procfs::Tree &tree) {
  device_ = core::Descriptor(::openat(tree.folder(), "dev/ipmi0", O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!device_) return core::Error{tree.full_path("dev/ipmi0") + ": " + core::error_text(errno)};
  return core::Done{};
}

std::optional<std::vector<uint8_t>> DeviceIpmi::request(uint8_t function, uint8_t command, std::span<uint8_t> data) {
  ipmi_system_interface_addr address{};
  address.addr_type = IPMI_SYSTEM_INTERFACE_ADDR_TYPE;
  address.channel = IPMI_BMC_CHANNEL;
  ipmi_req request{};
  request.addr = reinterpret_cast<unsigned char *>(&address);
  request.addr_len = sizeof(address);
  request.msgid = ++last_id_;
  request.msg.netfn = function;
  request.msg.cmd = command;
  request.msg.data = data.data();
  request.msg.data_len = static_cast<unsigned short>(data.size());
  if (!device_ || ::ioctl(device_.get(), IPMICTL_SEND_COMMAND, &request) != 0) return std::nullopt;
  // A late response to an earlier request may come first.
  for (size_t i = 0; i < kMaxAnswers; ++i) {
    pollfd ready{device_.get(), POLLIN, 0};
    if (::poll(&ready, 1, kTimeoutMs) != 1) return std::nullopt;
    std::array<uint8_t, IPMI_MAX_MSG_LENGTH> buffer{};
    ipmi_addr from{};
    ipmi_recv answer{};
    answer.addr = reinterpret_cast<unsigned char *>(&from);
    answer.addr_len = sizeof(from);
    answer.msg.data = buffer.data();
    answer.msg.data_len = static_cast<unsigned short>(buffer.size());
    if (::ioctl(device_.get(), IPMICTL_RECEIVE_MSG_TRUNC, &answer) != 0) return std::nullopt;
    if (answer.msgid == last_id_) return std::vector<uint8_t>(buffer.begin(), buffer.begin() + answer.msg.data_len);
  }
  return std::nullopt;
}

std::optional<double> parse_power_reading(std::span<const uint8_t> answer) {
  constexpr size_t kState = 18;
  constexpr uint8_t kMeasures = 0x40;
  if (answer.size() <= kState || answer[0] != 0 || answer[1] != kDcmi || (answer[kState] & kMeasures) == 0) return std::nullopt;
  return answer[2] + 256.0 * answer[3];
}

std::optional<double> read_power(Ipmi &ipmi) {
  std::array<uint8_t, 4> question{kDcmi, kSystemPower, 0, 0};
  const auto answer = ipmi.request(kGroupExtension, kGetPowerReading, question);
  return answer ? parse_power_reading(*answer) : std::nullopt;
}

}  // namespace atalaya::power
