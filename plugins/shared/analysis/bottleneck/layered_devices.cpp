// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/bottleneck/layered_devices.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "plugins/shared/analysis/bottleneck/tasks.h"

namespace atalaya::bottleneck {
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

std::string_view disk_of(const store::Series &series) {
  return series.metric.starts_with("sys.disk.") ? tag_of(series.tags, "disk") : "";
}

std::string_view interface_of(const store::Series &series) {
  return series.metric.starts_with("sys.net.") ? tag_of(series.tags, "interface") : "";
}

}  // namespace

void remove_layered_devices(std::vector<store::Series> &series) {
  std::set<std::string, std::less<>> with_disks, with_interfaces;  // hosts
  for (const store::Series &one : series) {
    if (is_lowest_disk(disk_of(one))) with_disks.emplace(tag_of(one.tags, "host"));
    if (is_lowest_interface(interface_of(one))) with_interfaces.emplace(tag_of(one.tags, "host"));
  }
  std::erase_if(series, [&](const store::Series &one) {
    const std::string_view host = tag_of(one.tags, "host");
    return (is_stacked_disk(disk_of(one)) && with_disks.contains(host)) ||
           (is_stacked_interface(interface_of(one)) && with_interfaces.contains(host));
  });
}

}  // namespace atalaya::bottleneck
