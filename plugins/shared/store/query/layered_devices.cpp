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

// The disk of a partition (sda1, nvme0n1p2) or of one of its paths (nvme0c1n1), by their names; empty: neither.
std::string whole_disk(std::string_view name) {
  const size_t end = name.find_last_not_of("0123456789");
  if (end == std::string_view::npos || end + 1 == name.size()) return "";
  const std::string_view text = name.substr(0, end + 1);
  const size_t path = name.starts_with("nvme") && text.ends_with('n') ? text.find('c') : std::string_view::npos;
  if (path != std::string_view::npos) return std::string(name.substr(0, path)).append(name.substr(end));
  if (end > 0 && text.ends_with('p') && name[end - 1] >= '0' && name[end - 1] <= '9') return std::string(name.substr(0, end));
  return std::string(text);
}

bool is_stacked_disk(std::string_view name) {
  return is_any(name, kStackedDisks);
}

bool is_stacked_interface(std::string_view name) {
  return is_any(name, kStackedInterfaces) || name.find('.') != std::string_view::npos;  // eth0.7: a VLAN
}

bool is_lowest_disk(std::string_view name) {
  return !is_stacked_disk(name) && !is_any(name, kInMemory);
}

bool is_lowest_interface(std::string_view name) {
  return !is_stacked_interface(name) && name != "lo";
}

}  // namespace

bool LayeredDevices::is_stacked(std::string_view name) const {
  return kind_ == DeviceKind::disk ? is_stacked_disk(name) : is_stacked_interface(name);
}

void LayeredDevices::add(std::string_view host, std::string_view name) {
  if (name.empty()) return;
  if (kind_ == DeviceKind::disk) disks_.emplace(std::string(host), std::string(name));
  const bool lowest = kind_ == DeviceKind::disk ? is_lowest_disk(name) : is_lowest_interface(name);
  if (lowest) hosts_.emplace(host);
}

bool LayeredDevices::contains(std::string_view host, std::string_view name) const {
  if (is_stacked(name) && hosts_.contains(host)) return true;
  return kind_ == DeviceKind::disk && disks_.contains({std::string(host), whole_disk(name)});
}

}  // namespace atalaya::query
