// SPDX-License-Identifier: Apache-2.0
#include "core/cli/run_problems.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/base/files.h"
#include "core/base/sample/batch.h"
#include "core/base/secret_path.h"

namespace atalaya::core::cli {
namespace {

bool may(const std::string &path, int mode) {
  return ::faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0;
}

// The process that holds a lock on the file, 0 if none. Takes no lock, so that it never disturbs an agent that starts.
int64_t lock_holder(const std::string &path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return 0;
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    unsigned major_number = 0;
    unsigned minor_number = 0;
    int64_t pid = 0;
    uint64_t inode = 0;
    if (std::sscanf(line.c_str(), "%*d: FLOCK %*s WRITE %" SCNd64 " %x:%x:%" SCNu64, &pid, &major_number, &minor_number, &inode) !=
        4)
      continue;
    if (inode == status.st_ino && major_number == major(status.st_dev) && minor_number == minor(status.st_dev)) return pid;
  }
  return 0;
}

std::string locked_text(const std::string &path, const std::string &lock) {
  const int64_t pid = lock_holder(lock);
  return pid == 0 ? "" : path + ": process " + std::to_string(pid) + " writes it; stop that process, or choose another path";
}

std::string not_writable(const std::string &path) {
  return path + ": this user cannot write it; change its owner, run as its owner, or choose another path";
}

// A folder that is made with its missing parents.
std::string made_folder_problem(std::filesystem::path folder) {
  std::error_code error;
  while (!std::filesystem::exists(folder, error) && folder.has_parent_path() && folder != folder.parent_path())
    folder = folder.parent_path();
  if (!std::filesystem::is_directory(folder, error)) return folder.string() + ": is not a folder; choose another path";
  return may(folder, W_OK | X_OK) ? "" : not_writable(folder);
}

std::string output_problem(const std::string &path) {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  if (folder == state_folder() && !std::filesystem::exists(folder, error)) return made_folder_problem(folder);
  if (!std::filesystem::is_directory(folder, error)) return "the folder " + folder + " does not exist; create it, or change path";
  if (std::filesystem::is_directory(path, error)) return path + ": is a folder; path must name a file";
  const bool exists = std::filesystem::exists(path, error);
  if (!may(exists ? path : folder, exists ? W_OK : W_OK | X_OK)) return not_writable(exists ? path : folder);
  const std::string locked = locked_text(path, path);
  return locked.empty() ? locked_text(path, path + "-lock") : locked;
}

std::string input_problem(const std::string &path, bool secret) {
  const std::string shown = secret ? shown_secret_path(path) : path;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return shown + ": " + error_text(errno) + "; create the file, or correct its path";
  if (!may(path, R_OK)) return shown + ": this user cannot read it; change its owner or mode";
  if (secret && (status.st_mode & (S_IROTH | S_IWOTH)) != 0) return shown + ": readable or writable by everyone; run chmod 640";
  return "";
}

std::string spool_problem(const std::string &folder) {
  std::string problem = made_folder_problem(folder);
  return problem.empty() ? locked_text(folder, folder) : problem;
}

// The path of an output file that is not written; sinks that have a default keep it at one place.
std::string default_output() {
  const char *store = std::getenv("ATALAYA_STORE");
  return store != nullptr && *store == '/' ? store : state_folder() + "/atalaya.db";
}

class Checker {
 public:
  std::vector<std::string> lines;

  void component(const StageDescription &stage, const std::string &label) {
    if (stage.function != 0) return;
    begin_ = prefix_of(stage.where) + "run as this user would report: " + label + std::string(kind_name(stage.kind)) + " \"" +
             stage.name + "\": ";
    record(schema_of(*stage.component.component), "", stage.parameters);
    if (!stage.spool.dir.empty()) add("spool.dir", spool_problem(stage.spool.dir));
  }

 private:
  void add(const std::string &path, const std::string &problem) {
    if (!problem.empty()) lines.push_back(begin_ + path + ": " + problem);
  }

  void record(const Schema &schema, const std::string &above, const Parameters &parameters) {
    for (uint32_t i = 0; i < schema.count(); ++i) {
      const atalaya_param &param = schema.at(i);
      const std::string path = above + std::string(view_of(param.name));
      if (param.type == ATALAYA_RECORD) record({param.items, param.item_count, param.item_size}, path + ".", parameters);
      if (param.type == ATALAYA_STRING) file(param, path, parameters.find(path));
    }
  }

  void file(const atalaya_param &param, const std::string &path, const Parameter *value) {
    const std::string_view unit = view_of(param.unit);
    if (unit == kOutputFile) add(path, output_problem(value == nullptr ? default_output() : value->text));
    if (value != nullptr && (unit == kInputFile || unit == kSecretFile)) add(path, input_problem(value->text, unit == kSecretFile));
  }

  std::string begin_;
};

}  // namespace

std::vector<std::string> run_problems(const FileDescription &file) {
  Checker checker;
  for (const PipelineDescription &pipeline : file.pipelines)
    for (const auto *list : {&pipeline.sources, &pipeline.stages})
      for (const StageDescription &stage : *list) checker.component(stage, "pipeline \"" + pipeline.name + "\": ");
  for (const StageDescription &sink : file.sinks) checker.component(sink, "");
  return checker.lines;
}

}  // namespace atalaya::core::cli
