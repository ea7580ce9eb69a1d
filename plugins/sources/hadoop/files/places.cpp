// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/hadoop/files/places.h"

#include <glob.h>

#include <algorithm>
#include <utility>

#include "plugins/sources/hadoop/files/discovery.h"
#include "plugins/sources/hadoop/options.h"

namespace atalaya::hadoop {
namespace {

constexpr const char *kWild = "*?[";

bool is_pattern(const std::string &path) {
  return !is_webhdfs(path) && path.find_first_of(kWild) != std::string::npos;
}

// "webhdfs://host:port"; empty: local.
std::string server_of(const std::string &path) {
  return is_webhdfs(path) ? path.substr(0, path.find('/', path.find("://") + 3)) : "";
}

// "webhdfs://nn:9870/x" for "hdfs://nn:8020/x": suggests the default web port.
std::string web_path(const std::string &path) {
  const size_t host = path.find("://") + 3, folder = std::min(path.find('/', host), path.size());
  const std::string name = path.substr(host, std::min(path.find(':', host), folder) - host);
  return "webhdfs://" + (name.empty() ? "NAMENODE" : name) + ":9870" + (folder < path.size() ? path.substr(folder) : "/");
}

}  // namespace

std::string fixed_part(const std::string &pattern) {
  const size_t end = pattern.rfind('/', pattern.find_first_of(kWild));
  if (end == std::string::npos) return "";
  return pattern.substr(0, std::max<size_t>(end, 1));
}

std::vector<std::string> paths_matching(const std::string &pattern) {
  glob_t found{};
  std::vector<std::string> out;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) out.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return out;
}

Places::Places(const Host &host) : host_(host), path_(host.text("path")), root_(host.text("root")), webhdfs_(webhdfs_of(host)) {
  if (path_.starts_with("hdfs://"))
    throw Failure(Code::bad_config, "parameter \"path\": \"" + path_ +
                                        "\" uses the native HDFS protocol, which is not supported; write " + web_path(path_) +
                                        ", the web address of its name node (port 50070 in Hadoop 2)");
  if (is_webhdfs(path_)) {
    storage_of(path_);  // reports an invalid address now
  } else if (path_ != "auto") {
    storages_[""] = make_local_storage({is_pattern(path_) ? fixed_part(path_) : path_});
  }
}

void Places::discover_paths() {
  const Discovery found = discover(root_);
  for (const std::string &problem : found.problems) host_.log(Level::warning, "path = \"auto\": " + problem);
  if (found.paths.empty())
    host_.log(Level::warning,
              "path = \"auto\": no configuration of Hadoop or Spark names a folder of histories; set HADOOP_CONF_DIR or "
              "SPARK_CONF_DIR for the agent, or set path to the folder");
  for (const std::string &path : found.paths) host_.log(Level::info, "path = \"auto\": histories are in " + path);
  discovered_ = found.paths;
  storages_[""] = make_local_storage(discovered_);
}

std::vector<std::string> Places::paths() {
  if (is_pattern(path_)) return paths_matching(path_);
  if (path_ != "auto") return {path_};
  if (discovered_.empty()) discover_paths();
  return discovered_;
}

Storage &Places::storage_of(const std::string &path) {
  const std::string server = server_of(path);
  std::unique_ptr<Storage> &storage = storages_[server];
  if (!storage) storage = make_webhdfs(server, webhdfs_);
  return *storage;
}

void Places::add_found(const std::string &path, Listing &listing) {
  try {
    Finding finding = find_histories(storage_of(path), path);
    for (const std::string &problem : finding.problems) host_.log(Level::warning, problem);
    listing.complete = listing.complete && finding.problems.empty();
    std::move(finding.found.begin(), finding.found.end(), std::back_inserter(listing.found));
  } catch (const Missing &problem) {
    // A match may have been deleted or replaced by a link since; the other matches are still read.
    const bool matched = is_pattern(path_), linked = dynamic_cast<const Linked *>(&problem) != nullptr;
    listing.complete = listing.complete && matched;
    if (!matched || (linked && !std::exchange(link_logged_, true))) host_.log(Level::warning, problem.what());
  } catch (const std::runtime_error &problem) {
    listing.complete = false;
    host_.log(Level::warning, problem.what());
  }
}

Places::Listing Places::list() {
  Listing listing;
  for (const std::string &path : paths()) add_found(path, listing);
  return listing;
}

}  // namespace atalaya::hadoop
