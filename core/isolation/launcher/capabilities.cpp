// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/launcher/capabilities.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>
#include <string_view>

#include "core/base/files.h"
#include "core/base/sample/batch.h"
#include "core/isolation/launcher/capability_names.h"
#include "core/plugin/strided.h"

namespace atalaya::core {
namespace {

struct Sets {
  uint64_t effective = 0, permitted = 0, inheritable = 0;
  bool operator==(const Sets &) const = default;
};

Sets get() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) return {};
  const auto joined = [](uint32_t low, uint32_t high) { return low | uint64_t{high} << 32; };
  return {joined(data[0].effective, data[1].effective), joined(data[0].permitted, data[1].permitted),
          joined(data[0].inheritable, data[1].inheritable)};
}

bool set(const Sets &sets) {
  if (sets == get()) return true;  // the unit without drop-ins refuses the call
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  for (unsigned half = 0; half < 2; ++half) {
    data[half].effective = static_cast<uint32_t>(sets.effective >> (32 * half));
    data[half].permitted = static_cast<uint32_t>(sets.permitted >> (32 * half));
    data[half].inheritable = static_cast<uint32_t>(sets.inheritable >> (32 * half));
  }
  return ::syscall(SYS_capset, &header, data.data()) == 0;
}

// The needs by feature; "" has the needs without a feature.
std::map<std::string_view, uint64_t> features_of(const atalaya_component &component) {
  std::map<std::string_view, uint64_t> wanted;
  const Strided<atalaya_need> needs(component.needs, component.need_count, component.need_size);
  for (uint32_t i = 0; i < needs.count(); ++i) {
    const atalaya_need need = needs.at(i);
    if (need.type != ATALAYA_NEED_CAPABILITY) continue;
    if (const auto number = capability_number(view_of(need.name))) wanted[view_of(need.feature)] |= uint64_t{1} << *number;
  }
  return wanted;
}

}  // namespace

uint64_t declared_capabilities(const atalaya_component &component) {
  uint64_t declared = 0;
  for (const auto &[feature, wanted] : features_of(component)) declared |= wanted;
  return declared;
}

uint64_t usable_capabilities(const atalaya_component &component, uint64_t given) {
  uint64_t usable = 0;
  for (const auto &[feature, wanted] : features_of(component))
    if (feature.empty() || (wanted & ~given) == 0) usable |= wanted & given;
  return usable;
}

uint64_t permitted_capabilities() {
  return get().permitted;
}

std::string capability_names(uint64_t set) {
  std::string text;
  for (size_t number = 0; number < kCapabilityNames.size(); ++number)
    if ((set >> number & 1) != 0) text += (text.empty() ? "" : ", ") + std::string(kCapabilityNames[number]);
  return text.empty() ? "none" : text;
}

Status keep_capabilities(uint64_t wanted) {
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  // Needs CAP_SETPCAP. Without it, no_new_privs, which is set last, has the same effect.
  for (unsigned long number = 0; ::prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0; ++number)
    if ((wanted >> number & 1) == 0) ::prctl(PR_CAPBSET_DROP, number, 0, 0, 0);
  const uint64_t kept = wanted & get().permitted;
  if (!set({kept, kept, kept})) return Error{"capabilities: " + error_text(errno)};
  for (unsigned long number = 0; number < 64; ++number)
    if ((kept >> number & 1) != 0) ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number, 0, 0);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Error{"no_new_privs: " + error_text(errno)};
  return Done{};
}

Status deny_capabilities_to_programs() {
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  const uint64_t kept = get().permitted;
  if (!set({kept, kept, 0})) return Error{"capabilities: " + error_text(errno)};
  return Done{};
}

}  // namespace atalaya::core
