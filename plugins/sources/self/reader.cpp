// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/self/reader.h"

#include <dirent.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "core/base/files.h"
#include "core/base/text/text.h"

namespace atalaya::self {
namespace {

// The number after "Name:\t" at the beginning of a line.
std::optional<int64_t> number_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = core::cut_at(text, '\n');
    if (line.substr(0, name.size()) != name || line.substr(name.size(), 1) != ":") continue;
    line.remove_prefix(std::min(line.find_first_not_of(" \t", name.size() + 1), line.size()));
    int64_t value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error != std::errc() || value < 0) return std::nullopt;
    return value;
  }
  return std::nullopt;
}

std::optional<int64_t> count_entries(const std::string &folder) {
  const std::unique_ptr<DIR, int (*)(DIR *)> directory(opendir(folder.c_str()), closedir);
  if (!directory) return std::nullopt;
  int64_t count = 0;
  while (const dirent *entry = readdir(directory.get()))
    if (entry->d_name[0] != '.') ++count;
  return count;
}

int64_t nanoseconds(const timeval &time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + int64_t{time.tv_usec} * 1000;
}

}  // namespace

void parse_status(std::string_view text, Reading &reading) {
  if (const auto kib = number_of(text, "VmRSS")) reading.resident_mib = static_cast<double>(*kib) / 1024;
  reading.threads = number_of(text, "Threads");
}

Reading read_process(const std::string &folder) {
  static constexpr size_t kMaxStatus = 65536;
  Reading reading;
  if (const auto status = core::read_file(folder + "/status", kMaxStatus)) parse_status(status.value(), reading);
  // The descriptor that reads the folder is one of them.
  if (const auto entries = count_entries(folder + "/fd")) reading.open_files = *entries - 1;
  return reading;
}

Usage read_usage() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {nanoseconds(usage.ru_utime), nanoseconds(usage.ru_stime), usage.ru_nvcsw, usage.ru_nivcsw};
}

}  // namespace atalaya::self
