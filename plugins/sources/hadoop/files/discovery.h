// SPDX-License-Identifier: Apache-2.0
// Finds the folders of histories in this host's configuration of Hadoop and Spark.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace atalaya::hadoop {

struct Discovery {
  std::vector<std::string> paths;     // local folders, and webhdfs:// URLs of folders in HDFS
  std::vector<std::string> problems;  // unreadable configuration, unsupported file systems (s3a://)
  std::vector<std::string> searched;  // configuration folders that were searched
};

// root: prefix of all paths, including the found history folders. Environment variables (HADOOP_CONF_DIR, ...) are used only if
// root is "/".
Discovery discover(const std::string &root);

// Parses spark-defaults.conf. A line has a key, a separator (blanks, `=` or `:`) and a value; `#` starts a comment.
std::vector<std::pair<std::string, std::string>> read_spark_defaults(std::string_view text);

}  // namespace atalaya::hadoop
