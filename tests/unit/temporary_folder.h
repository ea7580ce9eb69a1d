// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/plugin/verify/scratch_folder.h"

namespace atalaya::testing {

// A folder of the test's own.
class TemporaryFolder : public core::ScratchFolder {
 public:
  TemporaryFolder() : core::ScratchFolder("atalaya-test-") {}
  std::string operator/(std::string_view name) const { return path() + "/" + std::string(name); }
};

}  // namespace atalaya::testing
