// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/jvm/type_name.h"

namespace atalaya::jvm {

std::string_view plain_type(std::string_view name) {
  static constexpr std::string_view kLambda = "$$Lambda";
  name = name.substr(0, name.find("/0x", 1));  // from position 1, so that the name is not empty
  const size_t lambda = name.find(kLambda);
  return lambda == std::string_view::npos ? name : name.substr(0, lambda + kLambda.size());
}

std::string_view class_and_method(std::string_view frame) {
  static constexpr size_t kMark = 4;
  if (!frame.ends_with("_[j]") && !frame.ends_with("_[i]")) return frame;
  if (frame.find(':') != std::string_view::npos) return frame;  // of V8: "LazyCompile:*f /x.js:1_[j]"
  std::string_view name = frame.substr(0, frame.size() - kMark);
  name = name.substr(0, name.find('(', 1));
  if (const size_t result = name.rfind(' '); result != std::string_view::npos) name.remove_prefix(result + 1);
  const size_t method = name.rfind('.');
  if (method == std::string_view::npos || method == 0) return name.empty() ? frame : name;
  const size_t type = name.rfind('.', method - 1);
  return type == std::string_view::npos ? name : name.substr(type + 1);
}

}  // namespace atalaya::jvm
