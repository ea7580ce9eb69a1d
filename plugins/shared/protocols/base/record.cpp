// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/base/record.h"

#include "core/base/text/json.h"
#include "core/base/text/json_writer.h"
#include "core/base/text/safe_text.h"

namespace atalaya::protocols {

void append_numbered(std::string &out, std::string_view what, uint64_t number, std::string_view error) {
  core::JsonWriter(out).object().key(what).count(number).key("error").text(error).end_object();
}

}  // namespace atalaya::protocols
