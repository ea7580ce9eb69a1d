// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/jvm/type_name.h"

namespace atalaya::jvm {

std::string_view plain_type(std::string_view name) {
  static constexpr std::string_view kLambda = "$$Lambda";
  name = name.substr(0, name.find("/0x", 1));  // from position 1, so that the name is not empty
  const size_t lambda = name.find(kLambda);
  return lambda == std::string_view::npos ? name : name.substr(0, lambda + kLambda.size());
}

}  // namespace atalaya::jvm
