// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/query/layered_devices.h"

#include <algorithm>
#include <iterator>

namespace atalaya::query {
namespace {

// Names by the kernel and common tools.
struct Prefix {
  std::string_view text;
  bool numbered = true;  // followed by a digit
};

constexpr Prefix kStackedDisks[] = {{"dm-"}, {"md"}, {"loop"}, {"bcache"}, {"drbd"}, {"zd"}};
constexpr Prefix kInMemory[] = {{"ram"}, {"zram"}};
constexpr Prefix kStackedInterfaces[] = {
    {"bond"},        {"team"},         {"br"},          {"br-", false},     {"virbr"},          {"docker", false},
    {"veth", false}, {"cni", false},   {"cali", false}, {"flannel", false}, {"vxlan", false},   {"vlan", false},
    {"vnet"},        {"tap", false},   {"tun", false},  {"lxc", false},     {"cilium_", false}, {"podman", false},
    {"vmbr", false}, {"lxdbr", false}, {"wg", false},   {"ovs", false},     {"macvtap", false}};

template <size_t kCount>
bool is_any(std::string_view name, const Prefix (&prefixes)[kCount]) {
  return std::any_of(std::begin(prefixes), std::end(prefixes), [name](const Prefix &prefix) {
    if (!name.starts_with(prefix.text)) return false;
    const std::string_view rest = name.substr(prefix.text.size());
    return !prefix.numbered || (!rest.empty() && rest.front() >= '0' && rest.front() <= '9');
  });
}

bool is_stacked_disk(std::string_view name) {
  return is_any(name, kStackedDisks);
}

bool is_stacked_interface(std::string_view name) {
  return is_any(name, kStackedInterfaces) || name.find('.') != std::string_view::npos;  // eth0.7: a VLAN
}

bool is_lowest_disk(std::string_view name) {
  return !name.empty() && !is_stacked_disk(name) && !is_any(name, kInMemory);
}

bool is_lowest_interface(std::string_view name) {
  return !name.empty() && !is_stacked_interface(name) && name != "lo";
}

}  // namespace

bool LayeredDevices::is_stacked(std::string_view name) const {
  return kind_ == DeviceKind::disk ? is_stacked_disk(name) : is_stacked_interface(name);
}

void LayeredDevices::add(std::string_view host, std::string_view name) {
  const bool lowest = kind_ == DeviceKind::disk ? is_lowest_disk(name) : is_lowest_interface(name);
  if (lowest) hosts_.emplace(host);
}

bool LayeredDevices::contains(std::string_view host, std::string_view name) const {
  return is_stacked(name) && hosts_.contains(host);
}

}  // namespace atalaya::query
