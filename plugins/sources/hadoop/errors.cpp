// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/hadoop/errors.h"

namespace atalaya::hadoop {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

std::string_view without_blanks(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// Cuts a text; a cut within a UTF-8 character moves to its start.
std::string_view cut_to(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

std::string exception_of(const io::JsonObject &reason) {
  if (const std::string_view trace = io::text_of(reason, "Full Stack Trace"); !trace.empty()) return std::string(trace);
  const std::string_view name = io::text_of(reason, "Class Name"), message = io::text_of(reason, "Description");
  return std::string(name).append(name.empty() || message.empty() ? "" : ": ").append(message);
}

std::string lost_executor_of(const io::JsonObject &reason) {
  return "executor " + std::string(io::text_of(reason, "Executor ID")) + ": " + std::string(io::text_of(reason, "Loss Reason"));
}

std::string fetch_of(const io::JsonObject &reason) {
  std::string text;
  if (const auto from = io::object_of(reason, "Block Manager Address"))
    text.append("from executor ")
        .append(io::text_of(*from, "Executor ID"))
        .append(" on ")
        .append(io::text_of(*from, "Host"))
        .append(": ");
  return text.append(io::text_of(reason, "Message"));
}

}  // namespace

std::string first_lines(std::string_view text) {
  std::string out;
  text = without_blanks(text);
  for (size_t lines = 0; !text.empty() && lines < kMaxErrorLines && out.size() + 1 < kMaxErrorText; ++lines) {
    const size_t end = text.find('\n');
    if (!out.empty()) out += '\n';
    out += cut_to(without_blanks(text.substr(0, end)), kMaxErrorText - out.size());
    text = end == std::string_view::npos ? std::string_view{} : without_blanks(text.substr(end));
  }
  return out;
}

void append_error(const protocols::Span &of, std::string_view text, protocols::Spans &out) {
  protocols::Span error;
  error.error = first_lines(text);
  if (error.error.empty() || of.duration_ms < 0) return;
  error.text = "error";
  error.start_ms = of.start_ms + of.duration_ms;
  error.duration_ms = 0;
  error.host = of.host;
  error.framework = of.framework;
  error.job = of.job;
  error.stage = of.stage;
  error.task = of.task;
  error.attempt = of.attempt;
  error.executor = of.executor;
  error.outcome = of.outcome;
  out.push_back(std::move(error));
}

std::string end_reason(const io::JsonObject &reason) {
  const std::string_view word = io::text_of(reason, "Reason");
  const std::string detail = word == "ExceptionFailure"      ? exception_of(reason)
                             : word == "ExecutorLostFailure" ? lost_executor_of(reason)
                             : word == "FetchFailed"         ? fetch_of(reason)
                                                             : std::string(io::text_of(reason, "Kill Reason"));
  return detail.empty() ? std::string(word) : std::string(word).append(": ").append(detail);
}

}  // namespace atalaya::hadoop
