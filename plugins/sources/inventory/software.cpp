// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/inventory/software.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <utility>

#include "core/base/text/text.h"
#include "plugins/shared/host/procfs/command_lines.h"
#include "plugins/shared/protocols/hadoop_config/config.h"
#include "plugins/sources/inventory/properties.h"

namespace atalaya::inventory {
namespace {

constexpr size_t kMaxRelease = size_t{1} << 20;
constexpr std::array<std::string_view, 8> kFiles = {"core-site.xml", "hdfs-site.xml",   "yarn-site.xml",  "mapred-site.xml",
                                                    "tez-site.xml",  "httpfs-site.xml", "hbase-site.xml", "spark-defaults.conf"};
constexpr std::array<std::string_view, 14> kSecretWords = {"password", "passwd", "passphrase", "pwd",        "secret",
                                                           "token",    "cred",   "private",    "signature",  "apikey",
                                                           "api.key",  "cookie", "sas.",       "account.key"};
constexpr std::array<std::string_view, 3> kSecretEnds = {".key", "-key", "_key"};

using Identity = std::pair<uint64_t, uint64_t>;

class Reader {
 public:
  Reader(const procfs::Tree &tree, const Configurations &wanted, const Warn &warn, Facts &facts)
      : tree_(tree), wanted_(wanted), warn_(warn), facts_(facts) {}

  void read_place(const std::string &place) {
    const procfs::Tree::Listing folder = tree_.list(place);
    if (folder.error == ENOTDIR) return read_file(place);
    if (folder.error != 0 && !folder.missing()) {
      facts_.mark_unreadable("config." + place + "/");
      warn_("cannot list " + place + ": " + core::error_text(folder.error) + "; known facts about its files stay");
    }
    for (const std::string &name : folder.names)
      if (std::find(kFiles.begin(), kFiles.end(), name) != kFiles.end()) read_file(std::string(place).append("/").append(name));
  }

 private:
  void read_file(const std::string &path) {
    const auto identity = tree_.identity(path);
    if (identity && !seen_.insert(*identity).second) return;  // another name of the same file
    const procfs::Tree::Text text = tree_.read(path, hadoop_config::kMaxFile);
    if (text.missing()) return;
    if (!text.ok()) return keep_known(path, "cannot read " + path + ": " + core::error_text(text.error));
    if (path.ends_with(".xml")) return read_xml(path, text.text);
    for (const Property &property : parse_java_properties(text.text)) take(path, property.key, property.value);
  }

  void read_xml(const std::string &path, std::string_view text) {
    const hadoop_config::Config config = hadoop_config::read_config(text);
    if (!config.problem.empty()) return keep_known(path, path + " is damaged: " + config.problem);
    for (const hadoop_config::Property &property : config.properties) take(path, property.key, property.value);
  }

  void keep_known(const std::string &path, const std::string &problem) {
    facts_.mark_unreadable("config." + path + ":");
    warn_(problem + "; known facts about it stay");
  }

  void take(const std::string &path, const std::string &key, const std::string &value) {
    if (!wanted_.keys.matches(key) || names_secret(key)) return;
    static const io::MatcherList no_more;
    facts_.add("config." + path + ":" + key, procfs::redacted_command(value, false, no_more));
  }

  const procfs::Tree &tree_;
  const Configurations &wanted_;
  const Warn &warn_;
  Facts &facts_;
  std::set<Identity> seen_;
};

}  // namespace

void read_jdks(const procfs::Tree &tree, const std::vector<std::string> &folders, Facts &facts) {
  for (const std::string &folder : folders) {
    const procfs::Tree::Listing listing = tree.list(folder);
    if (listing.error != 0 && !listing.missing()) facts.mark_unreadable("jdk." + folder + "/");
    for (const std::string &name : listing.names) {
      const std::string path = std::string(folder).append("/").append(name);
      if (!tree.is_folder(path)) continue;
      const procfs::Tree::Text release = tree.read(path + "/release", kMaxRelease);
      if (!release.ok() && !release.missing()) facts.mark_unreadable("jdk." + path + ".");
      for (const Property &property : parse_assignments(release.text)) {
        if (property.key == "JAVA_VERSION") facts.add("jdk." + path + ".version", property.value);
        if (property.key == "IMPLEMENTOR") facts.add("jdk." + path + ".vendor", property.value);
      }
    }
  }
}

void read_configurations(const procfs::Tree &tree, const Configurations &wanted, const Warn &warn, Facts &facts) {
  Reader reader(tree, wanted, warn, facts);
  for (const std::string &place : wanted.places) reader.read_place(place);
}

bool names_secret(std::string_view key) {
  const std::string name = core::lower(key);
  return std::any_of(kSecretWords.begin(), kSecretWords.end(),
                     [&](std::string_view word) { return name.find(word) != std::string::npos; }) ||
         std::any_of(kSecretEnds.begin(), kSecretEnds.end(), [&](std::string_view word) { return name.ends_with(word); });
}

}  // namespace atalaya::inventory
