// SPDX-License-Identifier: Apache-2.0
// Disks and interfaces on top of others or parts of them: an LVM volume or a partition on its disk, a bridge on its interface.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace atalaya::query {

enum class DeviceKind { disk, interface };

// Finds partitions, paths, and the devices on top of others, by host and name. They are excluded if the host has another device, so
// that traffic counts once. Add all devices first.
class LayeredDevices {
 public:
  explicit LayeredDevices(DeviceKind kind) : kind_(kind) {}

  void add(std::string_view host, std::string_view name);
  bool contains(std::string_view host, std::string_view name) const;

 private:
  bool is_stacked(std::string_view name) const;

  DeviceKind kind_;
  std::set<std::pair<std::string, std::string>> disks_;  // host and name
  std::set<std::string, std::less<>> hosts_;             // hosts with a device that is not on top of another
};

}  // namespace atalaya::query
