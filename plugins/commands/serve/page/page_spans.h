// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/base/text/json_writer.h"
#include "plugins/commands/serve/page/page_request.h"

namespace atalaya::serve {

// Writes the selected spans as a JSON array. Throws query::TooMuch above 10,000 spans.
void write_spans(core::JsonWriter &json, std::string_view kind, const store::Selection &selection, PageCall &call);

}  // namespace atalaya::serve
