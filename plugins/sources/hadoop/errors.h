// SPDX-License-Identifier: Apache-2.0
// Texts of failures, as spans of their own: tags identify a span, and an open span has no error yet.
#pragma once

#include <string>
#include <string_view>

#include "plugins/shared/io/json/json_values.h"
#include "plugins/shared/protocols/base/span.h"

namespace atalaya::hadoop {

inline constexpr size_t kMaxErrorLines = 5;   // the message and the first frames of a stack
inline constexpr size_t kMaxErrorText = 500;  // bytes

// The first lines, without the blanks around them.
std::string first_lines(std::string_view text);
// Appends the reason of the end of a job, stage, attempt or executor, at its end; nothing if there is no text.
void append_error(const protocols::Span &of, std::string_view text, protocols::Spans &out);

// "ExceptionFailure: java.lang.IllegalStateException: ..." of a "Task End Reason" of Spark.
std::string end_reason(const io::JsonObject &reason);

}  // namespace atalaya::hadoop
