// SPDX-License-Identifier: Apache-2.0
// Finds the folders of histories in this host's configuration of Hadoop and Spark.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace atalaya::hadoop {

struct Discovery {
  std::vector<std::string> paths;      // folders, and webhdfs:// for those in HDFS
  std::vector<std::string> problems;   // unreadable configuration, unsupported file systems (s3a://)
  std::vector<std::string> looked_in;  // folders with configuration
};

// root: prefix of all paths, including those of histories. Environment variables (HADOOP_CONF_DIR, ...) are used if root is "/".
Discovery discover(const std::string &root);

// The format of Spark: a key, spaces, = or :, a value; # begins a comment.
std::vector<std::pair<std::string, std::string>> read_spark_defaults(std::string_view text);

}  // namespace atalaya::hadoop
