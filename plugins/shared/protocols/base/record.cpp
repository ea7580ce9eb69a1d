// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/base/record.h"

#include "core/base/text/json.h"
#include "core/base/text/safe_text.h"

namespace atalaya::protocols {

void append_numbered(std::string &out, std::string_view what, uint64_t number, std::string_view error) {
  out += "{\"";
  out += what;
  out += "\":";
  core::append_integer(out, static_cast<int64_t>(number));
  out += ",\"error\":";
  core::append_json_string(out, error);
  out += '}';
}

}  // namespace atalaya::protocols
