// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "plugins/commands/serve/page_request.h"
#include "plugins/shared/analysis/query/json_writer.h"

namespace atalaya::serve {

// A list of the spans. Throws query::TooMuch above 10,000.
void write_spans(query::JsonWriter &json, std::string_view kind, const store::Selection &selection, PageCall &call);

}  // namespace atalaya::serve
