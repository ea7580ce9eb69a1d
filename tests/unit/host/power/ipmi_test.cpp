// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/power/ipmi.h"

#include "tests/unit/host/power/machines.h"

namespace atalaya::power {
namespace {

const std::vector<uint8_t> kAnswer = {0x00, 0xdc, 0x5e, 0x01, 0x90, 0x00, 0x2c, 0x02, 0x40, 0x01,
                                      0x10, 0x20, 0x30, 0x60, 0xe8, 0x03, 0x00, 0x00, 0x40};

TEST_CASE("DCMI: the power that the controller measures") {
  CHECK(parse_power_reading(kAnswer) == 350);
}

TEST_CASE("DCMI: a truncated, refused or unmeasured response is no power") {
  for (size_t size = 0; size < kAnswer.size(); ++size) CHECK_FALSE(parse_power_reading(std::span(kAnswer).first(size)));
  for (const auto &[place, value] : {std::pair<size_t, uint8_t>{0, 0xc1}, {1, 0x00}, {18, 0x00}}) {
    std::vector<uint8_t> answer = kAnswer;
    answer[place] = value;
    CHECK_FALSE(parse_power_reading(answer));
  }
}

class Recorded final : public Ipmi {
 public:
  std::optional<std::vector<uint8_t>> request(uint8_t function, uint8_t command, std::span<uint8_t> data) override {
    const bool understood = function == 0x2c && command == 2 && data.size() == 4 && data[0] == 0xdc && data[1] == 1;
    return understood ? answer : std::nullopt;
  }
  std::optional<std::vector<uint8_t>> answer = kAnswer;
};

TEST_CASE("DCMI: the question") {
  Recorded controller;
  CHECK(read_power(controller) == 350);
  controller.answer.reset();
  CHECK_FALSE(read_power(controller));
}

TEST_CASE("a host without a controller") {
  test::MachineTree root;
  procfs::Tree tree(root.path());
  REQUIRE(tree.open());
  DeviceIpmi device;
  CHECK(device.open(tree).error() == root.path() + "/dev/ipmi0: No such file or directory");
  CHECK_FALSE(read_power(device));
}

}  // namespace
}  // namespace atalaya::power
