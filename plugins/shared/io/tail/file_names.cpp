// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/tail/file_names.h"

#include <dirent.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <memory>

#include "core/base/files.h"
#include "core/base/text/text.h"

namespace atalaya::tail {
namespace {

using namespace std::literals;

constexpr std::string_view kSeparators = ".-_";  // separators between a name and the suffix of rotation

// Whether the text is a suffix of rotation: a number, a date, a time or "old". A file with another suffix is separate: app.log is
// not a rotated file of app.
bool adds_rotation(std::string_view added) {
  return added == "old" || (added.find_first_not_of("0123456789-_.:T") == std::string_view::npos &&
                            added.find_first_of("0123456789") != std::string_view::npos);
}

bool is_regular(const std::string &path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode);
}

// Programs that write logs must not choose other files to read: only links matched by the operator's path are followed.
bool is_regular_itself(const std::string &path) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode);
}

bool is_folder(const std::string &path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

bool named_compressed(std::string_view name) {
  static constexpr std::array kEndings = {".gz"sv, ".bz2"sv, ".xz"sv, ".zst"sv, ".lz4"sv, ".Z"sv, ".zip"sv, ".lzma"sv};
  return std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view ending) { return name.ends_with(ending); });
}

core::Result<std::vector<std::string>> names_in(const std::string &folder) {
  struct Close {
    void operator()(DIR *open) const { ::closedir(open); }
  };
  const std::unique_ptr<DIR, Close> open(::opendir(folder.c_str()));
  std::vector<std::string> names;
  if (!open && (errno == ENOENT || errno == ENOTDIR)) return names;  // the folder does not exist now
  if (!open) return core::Error{"folder " + folder + ": " + core::error_text(errno) + "; give the agent's user read access"};
  while (const dirent *entry = ::readdir(open.get()))
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  std::sort(names.begin(), names.end());
  return names;
}

core::Result<std::vector<std::string>> matches(const std::string &pattern) {
  glob_t found{};
  const int code = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> paths;
  for (size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  if (code == GLOB_NOSPACE || code == GLOB_ABORTED) return core::Error{"cannot expand the glob " + pattern};
  return paths;
}

std::string folder_of(const std::string &path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
}
std::string joined(const std::string &folder, const std::string &name) {
  return folder == "." ? name : folder.ends_with('/') ? folder + name : folder + "/" + name;
}
std::string name_of(const std::string &path) {
  return path.substr(path.rfind('/') + 1);
}

core::Result<std::vector<std::string>> matching_paths(const std::string &path) {
  if (is_folder(path)) {
    auto names = names_in(path);
    if (names)
      for (std::string &name : names.value()) name = joined(path, name);
    return names;
  }
  if (path.find_first_of("*?[") == std::string::npos) return std::vector<std::string>{path};
  return matches(path);
}

// The number at the end of a name; -1: none.
int64_t number_after(const Found &file) {
  const std::string_view behind = std::string_view(file.path).substr(std::min(file.family.size() + 1, file.path.size()));
  const int64_t number = core::number_from<int64_t>(behind).value_or(-1);
  return number < 100'000 ? number : -1;
}

}  // namespace

std::string_view family_of(std::string_view name, const std::vector<std::string> &bases) {
  for (size_t at = name.find_first_of(kSeparators, 1); at != std::string_view::npos; at = name.find_first_of(kSeparators, at + 1)) {
    const std::string_view base = name.substr(0, at);
    if (adds_rotation(name.substr(at + 1)) && std::binary_search(bases.begin(), bases.end(), base, std::less<>())) return base;
  }
  return {};
}

bool older_name(const Found &a, const Found &b) {
  if (a.rotated() != b.rotated()) return a.rotated();
  const int64_t number_a = number_after(a), number_b = number_after(b);
  if (number_a != number_b) return number_a > number_b;
  return a.path < b.path;
}

core::Result<std::vector<Found>> find_files(const std::string &path, const std::vector<std::string> &known) {
  auto matched = matching_paths(path);
  if (!matched) return core::Error{matched.error()};
  std::vector<std::string> paths;
  for (std::string &one : matched.value())
    if (!named_compressed(one) && is_regular(one)) paths.push_back(std::move(one));
  std::sort(paths.begin(), paths.end());
  std::map<std::string, std::vector<std::string>> bases;  // by folder
  for (const std::string &one : paths) bases[folder_of(one)].push_back(name_of(one));
  for (const std::string &one : known)
    if (!std::binary_search(paths.begin(), paths.end(), one) && !is_folder(one)) bases[folder_of(one)].push_back(name_of(one));
  for (auto &[folder, names] : bases) std::sort(names.begin(), names.end());

  std::vector<Found> found;
  for (const std::string &one : paths) {
    const std::string folder = folder_of(one), name = name_of(one);
    const std::string_view base = family_of(name, bases[folder]);
    found.push_back({one, base.empty() ? one : joined(folder, std::string(base)), true});
  }
  for (const auto &[folder, names] : bases) {
    auto neighbours = names_in(folder);
    if (!neighbours) return core::Error{neighbours.error()};
    for (const std::string &name : neighbours.value()) {
      const std::string_view base = family_of(name, names);
      std::string whole = joined(folder, name);
      if (base.empty() || named_compressed(name) || std::binary_search(paths.begin(), paths.end(), whole) ||
          !is_regular_itself(whole))
        continue;
      found.push_back({std::move(whole), joined(folder, std::string(base)), false});
    }
  }
  return found;
}

}  // namespace atalaya::tail
