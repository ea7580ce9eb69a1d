// SPDX-License-Identifier: Apache-2.0
// Assembles rows from the parts of a response. A response is complete if its last row starts with 1.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/store/clickhouse/wire/row_binary.h"

namespace atalaya::store::clickhouse {

using RowVisitor = std::function<bool(const std::vector<Cell> &row)>;  // returns false to stop

class RowStream {
 public:
  // `types`: types of the columns after the first one.
  RowStream(const std::vector<Type> &types, const RowVisitor &visitor);

  // False: the visitor needs no more rows.
  bool take(std::string_view piece);
  // Throws Error for an incomplete answer, and the exception of the visitor. `name` is that of the database.
  void finish(const std::string &name) const;
  size_t held() const { return buffer_.size(); }

 private:
  bool read(std::string_view &rest);
  bool visit();
  std::string describe_received() const;

  const RowVisitor &visitor_;
  std::vector<Type> types_;
  std::vector<Cell> row_;
  std::string buffer_;
  bool is_complete_ = false;      // the last row was received
  bool visitor_is_done_ = false;  // the visitor needs no more rows
  const char *wrong_ = "";
  std::exception_ptr problem_;
};

}  // namespace atalaya::store::clickhouse
