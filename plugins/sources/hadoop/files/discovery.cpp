// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/hadoop/files/discovery.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include "core/base/files.h"
#include "core/base/text/text.h"
#include "plugins/shared/protocols/hadoop_config/config.h"

namespace atalaya::hadoop {
namespace {

using Settings = std::map<std::string, std::string, std::less<>>;

constexpr const char *kHadoopFolders[] = {"/etc/hadoop/conf", "/etc/hadoop", "/opt/hadoop/etc/hadoop",
                                          "/usr/local/hadoop/etc/hadoop", "/usr/lib/hadoop/etc/hadoop"};
constexpr const char *kSparkFolders[] = {"/etc/spark/conf", "/etc/spark", "/opt/spark/conf", "/usr/local/spark/conf",
                                         "/usr/lib/spark/conf"};
constexpr std::string_view kHdfs = "hdfs://";
constexpr int kMaxReplacements = 20;  // values of variables may contain variables

class Search {
 public:
  explicit Search(const std::string &root) : root_(root == "/" ? "" : root) {}

  Discovery run() {
    for (const std::string &folder : folders(kHadoopFolders, "HADOOP_CONF_DIR", "HADOOP_HOME", "/etc/hadoop")) hadoop(folder);
    if (!settings_.empty()) hadoop_paths();
    for (const std::string &folder : folders(kSparkFolders, "SPARK_CONF_DIR", "SPARK_HOME", "/conf")) spark(folder);
    std::sort(out_.paths.begin(), out_.paths.end());
    out_.paths.erase(std::unique(out_.paths.begin(), out_.paths.end()), out_.paths.end());
    return std::move(out_);
  }

 private:
  template <size_t n>
  std::vector<std::string> folders(const char *const (&usual)[n], const char *variable, const char *home, const char *below) const {
    std::vector<std::string> out;
    if (root_.empty()) {
      if (const char *folder = std::getenv(variable); folder != nullptr && *folder != 0) return {folder};
      if (const char *folder = std::getenv(home); folder != nullptr && *folder != 0) return {std::string(folder) + below};
    }
    for (const char *folder : usual) out.push_back(root_ + folder);
    return out;
  }

  bool read(const std::string &path, std::string &text) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return false;
    auto content = core::read_file(path, hadoop_config::kMaxFile);
    if (!content) {
      out_.problems.push_back(content.error());
      return false;
    }
    text = std::move(*content);
    return true;
  }

  // The first folder with configuration wins.
  void hadoop(const std::string &folder) {
    if (!settings_.empty()) return;
    for (const char *file : {"core-site.xml", "hdfs-site.xml", "yarn-site.xml", "mapred-site.xml"}) {
      std::string text;
      const std::string path = folder + "/" + file;
      if (!read(path, text)) continue;
      const hadoop_config::Config config = hadoop_config::read_config(text);
      if (!config.problem.empty()) out_.problems.push_back(path + ": " + config.problem);
      for (const hadoop_config::Property &one : config.properties) settings_.insert_or_assign(one.key, one.value);
    }
    if (!settings_.empty()) out_.searched.push_back(folder);
  }

  std::string setting(std::string_view key, const std::string &otherwise) const {
    const auto found = settings_.find(key);
    return replaced(found == settings_.end() ? otherwise : found->second);
  }
  // Replaces ${other.key} in a value; unset variables stay.
  std::string replaced(std::string value) const {
    for (int i = 0; i < kMaxReplacements && value.size() < hadoop_config::kMaxText; ++i) {
      const size_t begin = value.find("${"), end = begin == std::string::npos ? begin : value.find('}', begin);
      if (end == std::string::npos) break;
      const auto found = settings_.find(value.substr(begin + 2, end - begin - 2));
      if (found == settings_.end()) break;
      value.replace(begin, end + 1 - begin, found->second);
    }
    return value;
  }

  void hadoop_paths() {
    const std::string staging = setting("yarn.app.mapreduce.am.staging-dir", "/tmp/hadoop-yarn/staging");
    const std::string done = setting("mapreduce.jobhistory.done-dir", staging + "/history/done");
    const std::string intermediate = setting("mapreduce.jobhistory.intermediate-done-dir", staging + "/history/done_intermediate");
    add(done);
    add(intermediate);
    for (const char *old : {"hadoop.job.history.location", "mapred.job.tracker.history.completed.location"})
      if (settings_.count(old) > 0) add(setting(old, ""));
  }

  void spark(const std::string &folder) {
    std::string text;
    if (spark_known_ || !read(folder + "/spark-defaults.conf", text)) return;
    spark_known_ = true;
    out_.searched.push_back(folder);
    for (const auto &[key, value] : read_spark_defaults(text))
      if (key == "spark.eventLog.dir" || key == "spark.history.fs.logDirectory") add(value);
  }

  // A path without a scheme is in Hadoop's default file system.
  void add(std::string uri) {
    if (uri.find(":/") == std::string::npos) uri = in_default_system(uri);
    const size_t scheme_end = uri.find(":/");
    const std::string scheme = uri.substr(0, scheme_end);
    if (scheme_end == std::string::npos || uri.find("${") != std::string::npos) {
      out_.problems.push_back("\"" + uri + "\" has an unset variable, or is not a path");
    } else if (scheme == "file") {
      std::string_view path = std::string_view(uri).substr(scheme_end + 1);
      while (path.starts_with("//")) path.remove_prefix(1);
      add_local(std::string(path));
    } else if (scheme == "webhdfs" || scheme == "swebhdfs") {
      out_.paths.push_back(uri);
    } else if (scheme == "hdfs") {
      add_hdfs(uri);
    } else {
      out_.problems.push_back(uri + " is on an unsupported file system; only local folders and HDFS are read");
    }
  }
  std::string in_default_system(const std::string &path) const {
    const std::string system = setting("fs.defaultFS", setting("fs.default.name", "file:///"));
    const size_t scheme_end = system.find("://");
    if (scheme_end == std::string::npos) return path;
    return system.substr(0, system.find('/', scheme_end + 3)) + (path.starts_with('/') ? "" : "/") + path;
  }
  void add_local(const std::string &path) { out_.paths.push_back(root_ + path); }
  // The name nodes' web addresses in hdfs-site.xml (default: their hosts and the port of Hadoop 3).
  void add_hdfs(const std::string &uri) {
    const size_t path = std::min(uri.size(), uri.find('/', kHdfs.size()));
    std::string service = host_of(uri);
    if (service.empty()) service = host_of(setting("fs.defaultFS", setting("fs.default.name", "")));
    std::string servers;
    for (const std::string &node : name_nodes(service)) {
      const std::string address = web_address(service, node);
      if (!address.empty()) servers += (servers.empty() ? "" : ",") + address;
    }
    if (servers.empty()) {
      out_.problems.push_back(uri + " names no server, and dfs.namenode.http-address is not set");
      return;
    }
    out_.paths.push_back((tls() ? "swebhdfs://" : "webhdfs://") + servers + uri.substr(path));
  }
  // Returns "n1" of "hdfs://n1:8020/path".
  static std::string host_of(const std::string &uri) {
    if (!uri.starts_with(kHdfs)) return {};
    return uri.substr(kHdfs.size(), uri.find_first_of(":/", kHdfs.size()) - kHdfs.size());
  }
  bool tls() const { return setting("dfs.http.policy", "") == "HTTPS_ONLY"; }
  // Suffixes of the keys of the service's name nodes: ".service.node" if there are several.
  std::vector<std::string> name_nodes(const std::string &service) const {
    std::vector<std::string> out;
    std::string nodes = setting("dfs.ha.namenodes." + service, "");
    std::replace(nodes.begin(), nodes.end(), ',', ' ');
    std::istringstream words(nodes);
    const std::string prefix = "." + service + ".";
    for (std::string node; words >> node;) out.push_back(prefix + node);
    if (out.empty()) out.push_back(settings_.count(web_key() + "." + service) > 0 ? "." + service : "");
    return out;
  }
  std::string web_key() const { return tls() ? "dfs.namenode.https-address" : "dfs.namenode.http-address"; }
  // "host:port"; empty: unknown host.
  std::string web_address(const std::string &service, const std::string &node) const {
    const std::string web = setting(web_key() + node, "");
    const size_t colon = web.rfind(':');
    std::string host = web.substr(0, colon);
    // The name of a service with several name nodes is not a host name.
    const bool several = settings_.count("dfs.ha.namenodes." + service) > 0;
    if (host.empty() || host == "0.0.0.0")
      host = several ? host_of("hdfs://" + setting("dfs.namenode.rpc-address" + node, "")) : service;
    const std::string port = colon == std::string::npos ? (tls() ? "9871" : "9870") : web.substr(colon + 1);
    return host.empty() ? "" : host + ":" + port;
  }

  const std::string root_;
  Settings settings_;
  bool spark_known_ = false;
  Discovery out_;
};

}  // namespace

Discovery discover(const std::string &root) {
  return Search(root).run();
}

std::vector<std::pair<std::string, std::string>> read_spark_defaults(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto trim = [](std::string_view part, std::string_view what) {
    const size_t begin = part.find_first_not_of(what);
    if (begin == std::string_view::npos) return std::string_view{};
    return part.substr(begin, part.find_last_not_of(" \t\r") - begin + 1);
  };
  while (!text.empty()) {
    const std::string_view line = trim(core::cut_at(text, '\n'), " \t\r");
    if (line.empty() || line.starts_with('#')) continue;
    const std::string_view key = line.substr(0, line.find_first_of(" \t=:"));
    out.emplace_back(key, trim(line.substr(key.size()), " \t=:"));
  }
  return out;
}

}  // namespace atalaya::hadoop
