// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/hadoop_config/config.h"

#include <doctest/doctest.h>

namespace atalaya::hadoop_config {
namespace {

std::string wrapped(const std::string &inside) {
  return "<?xml version=\"1.0\"?>\n<configuration>\n" + inside + "\n</configuration>\n";
}

std::string property(const std::string &key, const std::string &value) {
  return "<property><name>" + key + "</name><value>" + value + "</value></property>";
}

std::string text_of(const Config &config) {
  std::string text;
  for (const Property &one : config.properties) text += one.key + "=" + one.value + ";";
  return text;
}

TEST_CASE("configuration: keys and values as written, keys without the blanks around them") {
  const Config config =
      read_config(wrapped("<property>\n <name> fs.defaultFS </name>\n <value>hdfs://n1:8020</value>\n"
                          " <description>the <b>first</b></description></property>" +
                          property("dir", " ${user.home}/a &amp; &lt;b&gt;\xc3\xa9 ") + property("empty", "")));
  CHECK(text_of(config) == "fs.defaultFS=hdfs://n1:8020;dir= ${user.home}/a & <b>\xc3\xa9 ;empty=;");
  CHECK(config.skipped == 0);
  CHECK(config.problem.empty());
}

TEST_CASE("configuration: values as attributes, a job's sources") {
  const Config config =
      read_config(wrapped("<property name=\"a\" value=\"1\"/><property><name>b</name><value>2</value><final>false</final>"
                          "<source>job.xml</source><source>programmatically</source></property>"));
  CHECK(text_of(config) == "a=1;b=2;");
}

TEST_CASE("configuration: the last value holds, unless an earlier one is final") {
  CHECK(text_of(read_config(wrapped(property("a", "1") + property("b", "x") + property("a", "2")))) == "a=2;b=x;");
  CHECK(text_of(read_config(
            wrapped("<property><name>a</name><value>1</value><final> true </final></property>" + property("a", "2")))) == "a=1;");
}

TEST_CASE("configuration: a property without a key or value is counted") {
  const Config config =
      read_config(wrapped("<property><name>a</name></property><property><value>b</value></property>" + property("c", "3")));
  CHECK(text_of(config) == "c=3;");
  CHECK(config.skipped == 2);
  CHECK(config.problem.empty());
}

TEST_CASE("configuration: entries before the damage are kept, and the line of the damage is reported") {
  const Config config = read_config("<configuration>\n" + property("a", "1") + "\n<property><name>b</nam");
  CHECK(text_of(config) == "a=1;");
  CHECK(config.problem == "line 3: unclosed token");
  CHECK(read_config("").problem == "line 1: no element found");
  CHECK(read_config("Meta VERSION=\"1\" .").problem == "line 1: syntax error");
}

TEST_CASE("configuration: entities are refused before they are used") {
  const Config config = read_config("<!DOCTYPE c [<!ENTITY a \"aaaa\">\n<!ENTITY b \"&a;&a;&a;\">]><configuration>" +
                                    property("x", "&b;") + "</configuration>");
  CHECK(config.properties.empty());
  CHECK(config.problem == "line 1: entity declarations are not allowed");
}

TEST_CASE("configuration: limits of size, depth, number and length") {
  CHECK(read_config(std::string(kMaxFile + 1, ' ')).problem == "larger than 16 MiB");
  std::string deep;
  for (int i = 0; i < 17; ++i) deep += "<a>";
  CHECK(read_config(deep).problem == "line 1: elements are nested too deeply");
  const Config lengths = read_config(wrapped(property("long", std::string(kMaxText + 1, 'x')) + property("a", "1")));
  CHECK(text_of(lengths) == "a=1;");
  CHECK(lengths.skipped == 1);
  std::string many;
  for (size_t i = 0; i < kMaxProperties + 2; ++i) many += property(std::to_string(i), "");
  const Config numbers = read_config(wrapped(many));
  CHECK(numbers.properties.size() == kMaxProperties);
  CHECK(numbers.skipped == 2);
}

}  // namespace
}  // namespace atalaya::hadoop_config
