// SPDX-License-Identifier: Apache-2.0
// Error texts as separate spans. They are no tags of the failed span, because tags identify a
// span, and an open span has no error yet.
#pragma once

#include <string>
#include <string_view>

#include "plugins/shared/io/json/json_values.h"
#include "plugins/shared/protocols/base/span.h"

namespace atalaya::hadoop {

inline constexpr size_t kMaxErrorLines = 5;   // the message and the first frames of a stack
inline constexpr size_t kMaxErrorText = 500;  // bytes

// Returns the first kMaxErrorLines lines without leading and trailing blanks.
std::string first_lines(std::string_view text);
// Appends a span with the error text of a failed job, stage, attempt or executor `of`, at the end time of `of`. Appends nothing if
// the text is empty.
void append_error(const protocols::Span &of, std::string_view text, protocols::Spans &out);

// Returns Spark's "Task End Reason" as text: "ExceptionFailure: java.lang.IllegalStateException: ...".
std::string end_reason(const io::JsonObject &reason);

}  // namespace atalaya::hadoop
