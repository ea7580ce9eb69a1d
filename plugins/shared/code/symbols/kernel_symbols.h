// SPDX-License-Identifier: Apache-2.0
// The kernel's functions, from the text of /proc/kallsyms. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::symbols {

inline constexpr size_t kMaxKallsyms = size_t{256} << 20;

class KernelSymbols {
 public:
  KernelSymbols() = default;
  // Empty if the kernel hides addresses (all are 0), which it does without CAP_SYSLOG.
  explicit KernelSymbols(std::string_view kallsyms);

  // The function at an address; "" if it is unknown. Valid as long as this object.
  std::string_view find(uint64_t address) const;
  bool empty() const { return symbols_.empty(); }

 private:
  struct Symbol {
    uint64_t address;
    uint32_t name, name_size;
  };
  std::vector<Symbol> symbols_;
  std::string names_;
};

}  // namespace atalaya::symbols
