// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/hadoop/files/finder.h"

#include <algorithm>
#include <charconv>

namespace atalaya::hadoop {
namespace {

using namespace std::string_view_literals;

constexpr size_t kMaxDepth = 16;
constexpr std::string_view kRolled = "eventlog_v2_", kEvents = "events_", kCompact = ".compact", kStatus = "appstatus_";
constexpr std::string_view kInProgress = ".inprogress";

std::string_view file_name(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

std::string_view folder_name(std::string_view path) {
  const size_t end = path.rfind('/');
  return end == std::string_view::npos ? std::string_view{} : file_name(path.substr(0, end));
}

bool is_configuration(std::string_view name) {
  return name.ends_with("_conf.xml") || name == "job.xml" || name == "conf.xml";
}

// Returns true for files in history folders that are no histories.
bool is_other(std::string_view name) {
  if (name.empty() || name.starts_with('.') || name.starts_with(kStatus)) return true;
  for (const char *end : {".crc", ".tmp", ".jar", ".split", ".splitmetainfo", ".summary"})
    if (name.ends_with(end)) return true;
  return name.ends_with(".xml") && !is_configuration(name);
}

// Returns the job id of a configuration file, from the name of the file or its folder; empty: unknown.
std::string job_of_configuration(std::string_view path) {
  for (const std::string_view text : {file_name(path), folder_name(path)}) {
    const size_t begin = text.find("job_");
    if (begin == std::string_view::npos) continue;
    const size_t end = text.find_first_not_of("0123456789_", begin + 4);
    std::string_view id = text.substr(begin, end == std::string_view::npos ? end : end - begin);
    while (id.ends_with('_')) id.remove_suffix(1);
    return std::string(id);
  }
  return {};
}

Found found_file(const Entry &entry) {
  const std::string_view name = file_name(entry.path);
  Found out{entry.path, job_name(name), entry.size, entry.changed_ms, is_configuration(name), {}};
  out.parts.push_back({0, entry.path, entry.size, name.ends_with(kInProgress)});
  if (out.configuration) out.name = job_of_configuration(entry.path);
  // Spark 1.0 to 1.2: one folder per application, with EVENT_LOG_1.
  if (out.name.starts_with("EVENT_LOG_")) out.name = folder_name(entry.path);
  return out;
}

class Walk {
 public:
  Walk(Storage &storage, Finding &out) : storage_(storage), out_(out) {}

  void folder(const Entry &folder, size_t depth) {
    std::vector<Entry> entries;
    try {
      entries = storage_.list(folder.path);
    } catch (const Missing &) {
      return;  // deleted since it was listed
    } catch (const Unreadable &problem) {
      out_.problems.emplace_back(problem.what());
      return;
    }
    if (file_name(folder.path).starts_with(kRolled)) return rolled(folder, entries);
    for (const Entry &entry : entries) {
      if (++looked_at_ == kMaxFiles) out_.problems.push_back(folder.path + ": more than a million files; the rest is not read");
      if (looked_at_ >= kMaxFiles) return;
      if (entry.folder && depth < kMaxDepth) {
        this->folder(entry, depth + 1);
      } else if (!entry.folder && !is_other(file_name(entry.path))) {
        out_.found.push_back(found_file(entry));
      }
    }
  }

 private:
  void rolled(const Entry &folder, const std::vector<Entry> &entries) {
    Found log{folder.path, job_name(file_name(folder.path)), 0, 0, false, rolled_parts(entries)};
    for (const Part &part : log.parts) log.size += part.size;
    for (const Entry &entry : entries) log.changed_ms = std::max(log.changed_ms, entry.changed_ms);
    if (!log.parts.empty()) out_.found.push_back(std::move(log));
  }

  Storage &storage_;
  Finding &out_;
  size_t looked_at_ = 0;
};

}  // namespace

std::string job_name(std::string_view file) {
  if (file.starts_with(kRolled)) file.remove_prefix(kRolled.size());
  for (bool cut = true; cut;) {
    cut = false;
    for (const std::string_view end : {kInProgress, ".zstd"sv, ".zst"sv, ".lz4"sv, ".lzf"sv, ".snappy"sv, ".jhist"sv}) {
      if (!file.ends_with(end) || file.size() == end.size()) continue;
      file.remove_suffix(end.size());
      cut = true;
    }
  }
  return std::string(file);
}

std::vector<Part> rolled_parts(const std::vector<Entry> &files) {
  std::vector<Part> parts;
  uint64_t first = 0;  // parts replaced by a compacted one are not read
  bool running = false;
  for (const Entry &file : files) {
    std::string_view name = file_name(file.path);
    running = running || (name.starts_with(kStatus) && name.ends_with(kInProgress));
    if (file.folder || !name.starts_with(kEvents)) continue;
    name.remove_prefix(kEvents.size());
    uint64_t index = 0;
    const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), index);
    if (error != std::errc{} || stop == name.data() + name.size() || *stop != '_' || index > UINT32_MAX) continue;
    const bool compact = name.ends_with(kCompact);
    parts.push_back({2 * index + (compact ? 1 : 0), file.path, file.size, false});
    if (compact) first = std::max(first, parts.back().number);
  }
  std::erase_if(parts, [first](const Part &part) { return part.number < first; });
  std::sort(parts.begin(), parts.end(), [](const Part &a, const Part &b) { return a.number < b.number; });
  if (running && !parts.empty()) parts.back().open = true;
  return parts;
}

Finding find_histories(Storage &storage, const std::string &path) {
  Finding out;
  const Entry at = storage.status_of(path);
  if (at.folder) {
    Walk(storage, out).folder(at, 0);
  } else {
    out.found.push_back(found_file(at));
  }
  std::sort(out.found.begin(), out.found.end(), [](const Found &a, const Found &b) {
    return a.changed_ms != b.changed_ms ? a.changed_ms < b.changed_ms : a.path < b.path;
  });
  return out;
}

}  // namespace atalaya::hadoop
