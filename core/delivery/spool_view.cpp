// SPDX-License-Identifier: Apache-2.0
#include "core/delivery/spool_view.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>

namespace atalaya::core {

std::string segment_path(const std::string &dir, uint64_t segment) {
  char name[32];
  std::snprintf(name, sizeof(name), "/%016llx.seg", static_cast<unsigned long long>(segment));
  return dir + name;
}

std::vector<SpoolView::File> list_segments(const std::string &dir) {
  std::vector<SpoolView::File> files;
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator(dir, error)) {
    const std::string name = entry.path().filename();
    std::string path = dir;
    path.append("/").append(name);
    uint64_t number = 0;
    const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), number, 16);
    if (wrong != std::errc() || segment_path(dir, number) != path) continue;
    const uint64_t size = entry.file_size(error);
    if (!error) files.push_back({number, size, path});  // otherwise the agent has just removed the file
  }
  std::sort(files.begin(), files.end(), [](const auto &a, const auto &b) { return a.name < b.name; });
  return files;
}

Result<SpoolView> view_spool(const std::string &dir) {
  SpoolView view;
  auto file = StateFile::open(dir + "/state", false);
  if (!file && !std::filesystem::is_directory(dir)) return Error{dir + ": there is no spool"};
  bool damaged = false;
  view.has_state = file && file->load(view.state, damaged);
  view.segments = list_segments(dir);
  if (!view.has_state && !damaged && view.segments.empty()) return Error{dir + ": there is no spool"};
  std::erase_if(view.segments, [&](const auto &segment) { return segment.name < view.state.segment; });
  return view;
}

void walk_spool(const SpoolView &view, bool check_bodies, const FoundInSpool &found) {
  for (const SpoolView::File &segment : view.segments) {
    auto reader = SegmentReader::open(segment.path, view.state.id);
    if (!reader) continue;  // the agent has just removed the file
    const bool first = segment.name == view.state.segment && view.state.offset > 0;
    for (uint64_t at = first ? view.state.offset : reader->begin(); at < segment.size;) {
      const auto next = reader->at(at, segment.size, check_bodies);
      if (!found(segment, next)) return;
      at += next.size;
    }
  }
}

}  // namespace atalaya::core
