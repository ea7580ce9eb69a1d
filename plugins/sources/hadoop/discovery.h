// SPDX-License-Identifier: Apache-2.0
// Where this host's Hadoop and Spark are configured to keep their histories.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace atalaya::hadoop {

struct Discovery {
  std::vector<std::string> paths;      // folders, and webhdfs:// for those in HDFS
  std::vector<std::string> problems;   // configuration that could not be read, places of other kinds (s3a://)
  std::vector<std::string> looked_in;  // folders with configuration
};

// root: in front of all paths, of the histories too. Environment variables (HADOOP_CONF_DIR, ...) count where root is "/".
Discovery discover(const std::string &root);

// Spark's: a key, blanks, = or :, a value; # begins a comment.
std::vector<std::pair<std::string, std::string>> read_spark_defaults(std::string_view text);

}  // namespace atalaya::hadoop
