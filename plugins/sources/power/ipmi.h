// SPDX-License-Identifier: Apache-2.0
// Reads the power at the host's power supply from the board management controller. Source: "Get
// Power Reading", DCMI 1.5, section 6.6.1.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "plugins/shared/host/procfs/tree.h"

namespace atalaya::power {

// The controller; tests use a recorded one.
class Ipmi {
 public:
  virtual ~Ipmi() = default;
  // Sends a request and returns the response, whose first byte is the completion code; absent if there is no response.
  virtual std::optional<std::vector<uint8_t>> request(uint8_t function, uint8_t command, std::span<uint8_t> data) = 0;
};

// The device /dev/ipmi0 (kernel module ipmi_devintf).
class DeviceIpmi final : public Ipmi {
 public:
  core::Status open(const procfs::Tree &tree);
  std::optional<std::vector<uint8_t>> request(uint8_t function, uint8_t command, std::span<uint8_t> data) override;

 private:
  core::Descriptor device_;
  int64_t last_id_ = 0;
};

// Returns the current watts; absent if the controller refuses the command or does not measure.
std::optional<double> parse_power_reading(std::span<const uint8_t> answer);
std::optional<double> read_power(Ipmi &ipmi);

}  // namespace atalaya::power
