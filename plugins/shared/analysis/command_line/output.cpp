// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/command_line/output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atalaya/plugin.hpp>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <set>

#include "core/base/files.h"
#include "core/base/text/safe_text.h"
#include "core/base/text/suggest.h"
#include "core/base/text/text.h"
#include "core/base/text/units.h"
#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/io/time/time_text.h"

namespace atalaya::command_line {
namespace {

// Returns 0, or the first error number if the file is incomplete.
int write_all(std::FILE *out, std::string_view bytes) {
  if (out == nullptr) return errno;
  const int error = std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size() ? 0 : errno;
  return std::fclose(out) == 0 || error != 0 ? error : errno;
}

// Whether a rename may replace the path: it does not exist, or is a writable regular file of this user without other hard links.
bool replaceable(const std::string &file) {
  struct stat status {};
  if (::lstat(file.c_str(), &status) != 0) return errno == ENOENT;
  return S_ISREG(status.st_mode) && status.st_uid == ::geteuid() && status.st_nlink == 1 && ::access(file.c_str(), W_OK) == 0;
}

// Writes a new file in the same folder and renames it: the old contents remain until all is written.
int replace(const std::string &file, std::string_view bytes) {
  const std::string beside = file + "." + std::to_string(::getpid()) + ".part";
  std::FILE *out = std::fopen(beside.c_str(), "wxe");
  if (out == nullptr)
    return write_all(std::fopen(file.c_str(), "we"),
                     bytes);  // writes in place: the file may be writable although its folder is not
  struct stat before {};
  if (::stat(file.c_str(), &before) == 0) (void)::fchmod(::fileno(out), before.st_mode & 07777);
  int error = write_all(out, bytes);
  if (error == 0 && ::rename(beside.c_str(), file.c_str()) != 0) error = errno;
  if (error != 0) ::unlink(beside.c_str());
  return error;
}

// Names may contain control characters of terminals, which are escaped.
std::string visible_lines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    core::append_visible(out, line);
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

void write_output(const std::string &file, std::string_view bytes) {
  if (file.empty() || file == "-") {
    const std::string visible = ::isatty(STDOUT_FILENO) != 0 ? visible_lines(bytes) : std::string();
    const std::string_view written = visible.empty() ? bytes : visible;
    std::fwrite(written.data(), 1, written.size(), stdout);
    return;
  }
  const int error = replaceable(file) ? replace(file, bytes) : write_all(std::fopen(file.c_str(), "we"), bytes);
  if (error != 0) throw Failure(Code::permanent, "-o " + file + ": " + core::error_text(error));
  std::fprintf(stderr, "wrote %s (%s)\n", file.c_str(), core::format_size(static_cast<int64_t>(bytes.size())).c_str());
}

std::string span_text(const query::Range &range) {
  constexpr int64_t kSecond = 1'000'000'000;
  const bool cut = range.to_ns - range.from_ns >= 2 * kSecond;
  const auto shown = [cut](int64_t time_ns) { return cut ? time_ns / kSecond * kSecond : time_ns; };
  io::LocalTimes times;
  times.add(range.from_ns);
  times.add(range.to_ns);
  const std::string zone = times.one_zone() ? " " + io::zone_text(range.from_ns) : "";
  return times.text(shown(range.from_ns)) + " to " + times.text(shown(range.to_ns)) + zone;
}

void report_no_points(const char *what, const query::Range &range) {
  std::fprintf(stderr, "no %s from %s\n", what, span_text(range).c_str());
}

std::string coverage_text(double coverage, int64_t window_ns, const query::Range &range) {
  const double length = static_cast<double>(range.to_ns) - static_cast<double>(range.from_ns);
  if ((1 - coverage) * length <= 2 * static_cast<double>(window_ns) || coverage >= 1) return "";
  const std::string part = rounded_text(std::round(coverage * 1000) / 10);
  return "the averages are of the " + part + " % of the time range that was collected";
}

void report_coverage(const std::vector<query::Answer> &answers, const query::Range &range) {
  double minimum = 1;
  int64_t window_ns = 0;
  for (const query::Answer &answer : answers) {
    minimum = std::min(minimum, answer.coverage);
    window_ns = std::max(window_ns, answer.window_ns);
  }
  if (const std::string text = coverage_text(minimum, window_ns, range); !text.empty())
    std::fprintf(stderr, "note: %s\n", text.c_str());
}

void check_keys(const std::vector<std::string> &group_by, const std::vector<query::Answer> &answers) {
  if (answers.empty()) return;
  std::set<std::string> known;
  for (const query::Answer &answer : answers) {
    for (const auto &[key, value] : answer.tags) known.insert(key);
    known.insert(answer.aggregated_tags.begin(), answer.aggregated_tags.end());
  }
  const std::vector<std::string> names(known.begin(), known.end());
  for (const std::string &key : group_by) {
    if (key == "*" || known.contains(key)) continue;
    const std::string suggestion = core::did_you_mean(key, names);
    throw query::Wrong("--group-by: no series here has the tag " + core::in_quotes(key) +
                       (suggestion.empty() ? "; their tags are " + core::joined(names) : suggestion));
  }
}

std::string suffix_of(const std::string &file) {
  const size_t dot = file.rfind('.');
  if (dot == std::string::npos || file.find('/', dot) != std::string::npos) return "";
  std::string suffix = file.substr(dot + 1);
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return suffix;
}

}  // namespace atalaya::command_line
