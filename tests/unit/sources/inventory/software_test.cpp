// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/inventory/software.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "tests/unit/sources/proc/host_fixture.h"

namespace atalaya::inventory {
namespace {

using proc::test::TempRoot;

std::string site(std::initializer_list<std::pair<std::string, std::string>> properties) {
  std::string text = "<?xml version=\"1.0\"?>\n<configuration>\n";
  for (const auto &[key, value] : properties)
    text.append("<property><name>").append(key).append("</name><value>").append(value).append("</value></property>\n");
  return text + "</configuration>\n";
}

struct Machine {
  Machine() { REQUIRE(tree.open()); }
  void read(const std::vector<std::string> &places, const std::vector<std::string> &keys = {"*"}) {
    auto list = io::MatcherList::parse(keys);
    REQUIRE(list.ok());
    read_configurations(
        tree, {places, std::move(*list)}, [this](const std::string &text) { warnings.push_back(text); }, facts);
  }
  std::string operator[](std::string_view name) const {
    const auto found = facts.values().find(name);
    return found == facts.values().end() ? "(absent)" : found->second;
  }
  TempRoot root;
  procfs::Tree tree{root.path()};
  Facts facts;
  std::vector<std::string> warnings;
};

}  // namespace

TEST_CASE("JDKs by their release files") {
  Machine machine;
  machine.root.write("usr/lib/jvm/java-17/release", "IMPLEMENTOR=\"Debian\"\nJAVA_VERSION=\"17.0.15\"\n");
  machine.root.write("usr/lib/jvm/other/readme", "");
  std::filesystem::create_directory_symlink("java-17", machine.root / "usr/lib/jvm/default-java");
  read_jdks(machine.tree, {"/usr/lib/jvm", "/opt"}, machine.facts);
  CHECK(machine.facts.values().size() == 2);
  CHECK(machine["jdk./usr/lib/jvm/java-17.version"] == "17.0.15");
  CHECK(machine["jdk./usr/lib/jvm/java-17.vendor"] == "Debian");
}

TEST_CASE("configuration files in folders and by name, each once") {
  Machine machine;
  machine.root.write("etc/hadoop/conf/hdfs-site.xml", site({{"dfs.replication", "3"}}));
  machine.root.write("etc/hadoop/conf/unknown.xml", site({{"a", "b"}}));
  machine.root.write("srv/my.xml", site({{"c", "d"}}));
  machine.root.write("opt/spark/conf/spark-defaults.conf", "spark.executor.memory 8g\n");
  std::filesystem::create_directory_symlink("../etc/hadoop/conf", machine.root / "srv/conf");
  machine.read({"/etc/hadoop/conf", "/srv/conf", "/srv/my.xml", "/opt/spark/conf", "/nowhere"});
  CHECK(machine.facts.values().size() == 3);
  CHECK(machine["config./etc/hadoop/conf/hdfs-site.xml:dfs.replication"] == "3");
  CHECK(machine["config./srv/my.xml:c"] == "d");
  CHECK(machine["config./opt/spark/conf/spark-defaults.conf:spark.executor.memory"] == "8g");
  CHECK(machine.warnings.empty());
}

TEST_CASE("only requested keys") {
  Machine machine;
  machine.root.write("a/core-site.xml", site({{"io.file.buffer.size", "4096"}, {"fs.defaultFS", "hdfs://n"}}));
  machine.read({"/a"}, {"io.*"});
  CHECK(machine.facts.values().size() == 1);
}

TEST_CASE("secrets are never reported, whatever the keys") {
  Machine machine;
  machine.root.write("a/core-site.xml", site({{"fs.s3a.access.key", "AKIAXXXXXXXXXXXXXXXX"},
                                              {"fs.s3a.secret.key", "hunter2"},
                                              {"fs.azure.account.key.store.blob.core.windows.net", "hunter2"},
                                              {"hadoop.security.credential.provider.path", "jceks://file/hunter2"},
                                              {"ssl.server.keystore.PASSWORD", "hunter2"},
                                              {"my.token", "hunter2"},
                                              {"proxy.url", "http://me:hunter2@proxy:80/"},
                                              {"mapreduce.map.java.opts", "-Xmx1g -Djavax.net.ssl.keyStorePassword=hunter2"},
                                              {"hadoop.security.authentication", "kerberos"}}));
  machine.root.write("a/spark-defaults.conf", "spark.ssl.keyPassword hunter2\nspark.x -Dp.password=hunter2\n");
  machine.read({"/a"});
  for (const auto &[name, value] : machine.facts.values()) {
    CHECK(value.find("hunter2") == std::string::npos);
    CHECK(value.find("AKIA") == std::string::npos);
  }
  CHECK(machine["config./a/core-site.xml:hadoop.security.authentication"] == "kerberos");
  CHECK(machine["config./a/core-site.xml:proxy.url"] == "http://***@proxy:80/");
  CHECK(machine["config./a/core-site.xml:mapreduce.map.java.opts"] == "-Xmx1g -Djavax.net.ssl.keyStorePassword=***");
  CHECK(machine.facts.values().size() == 4);
}

TEST_CASE("a file that is damaged or cannot be read keeps the known facts") {
  Machine machine;
  machine.root.write("a/core-site.xml", "<configuration><property>");
  std::filesystem::create_directory(machine.root / "a/yarn-site.xml");
  machine.read({"/a"});
  CHECK(machine.facts.is_unreadable("config./a/core-site.xml:x"));
  CHECK(machine.facts.is_unreadable("config./a/yarn-site.xml:x"));
  REQUIRE(machine.warnings.size() == 2);
  CHECK(machine.warnings[0].starts_with("/a/core-site.xml is damaged: "));
  CHECK(machine.warnings[1] == "cannot read /a/yarn-site.xml: Is a directory; known facts about it stay");
}

}  // namespace atalaya::inventory
