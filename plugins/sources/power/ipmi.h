// SPDX-License-Identifier: Apache-2.0
// Power at the host's supply, measured by the board's management controller: the command "Get Power Reading" of DCMI 1.5, 6.6.1.
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

// The controller, or a recorded one.
class Ipmi {
 public:
  virtual ~Ipmi() = default;
  // The response, completion code first; absent without a response.
  virtual std::optional<std::vector<uint8_t>> ask(uint8_t function, uint8_t command, std::span<uint8_t> data) = 0;
};

// /dev/ipmi0 of the module ipmi_devintf.
class DeviceIpmi final : public Ipmi {
 public:
  core::Status open(const procfs::Tree &tree);
  std::optional<std::vector<uint8_t>> ask(uint8_t function, uint8_t command, std::span<uint8_t> data) override;

 private:
  core::Descriptor device_;
  int64_t last_id_ = 0;
};

// Current watts; absent when the controller refuses or does not measure.
std::optional<double> parse_power_reading(std::span<const uint8_t> answer);
std::optional<double> read_power(Ipmi &ipmi);

}  // namespace atalaya::power
