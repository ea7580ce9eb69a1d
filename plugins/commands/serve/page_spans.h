// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "plugins/commands/serve/json_writer.h"
#include "plugins/commands/serve/page_request.h"

namespace atalaya::serve {

// A list of the spans. Throws query::TooMuch above 10,000.
void write_spans(JsonWriter &json, std::string_view kind, const store::Selection &selection, PageCall &call);

}  // namespace atalaya::serve
