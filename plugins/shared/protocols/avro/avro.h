// SPDX-License-Identifier: Apache-2.0
// Converts Avro's binary encoding (histories of Hadoop 3) to its JSON encoding (Hadoop 2), so that other code reads only one.
// Source: Apache Avro 1.11, Specification, "Binary Encoding" and "JSON Encoding".
//   int, long     zigzag: 7 bits a byte, the lowest first, the high bit continues; 0, -1, 1, -2 ... are 0, 1, 2, 3 ...
//   float, double 4 or 8 bytes, little-endian             boolean  one byte, 0 or 1
//   bytes, string LENGTH as a long, then the bytes        fixed    the bytes
//   enum          the index of the symbol as an int       record   its fields in order
//   union         the index of the branch as a long, then its value; in JSON {"TYPE": value}, or null
//   array, map    blocks: COUNT, items; a negative count precedes the block's size in bytes; an empty block ends. Keys are strings
// Real numbers that are not finite become null. Lists of values without bytes are refused, because they could be huge.
// Files with Avro's own header are not read: histories have their schema as a line of text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace atalaya::protocols {

class AvroSchema {
 public:
  core::Status read(std::string_view json);

  enum class Found { value, incomplete, malformed };
  // Converts the value at the start of the bytes to JSON; sets `used` to its length.
  Found to_json(std::string_view bytes, size_t &used, std::string &json) const;

 private:
  enum class Type : uint8_t { null, boolean, integer, real32, real64, bytes, text, record, enumeration, list, map, choice, fixed };
  struct Node {
    Type type = Type::null;
    std::string name;                // name of a named type, with its namespace; else name of the type
    std::vector<std::string> names;  // names of the fields of a record, or of the symbols of an enumeration
    std::vector<size_t> parts;       // indexes of the types of fields, items, branches
    size_t size = 0;                 // size of a value of type fixed
  };
  class Builder;
  class Decoder;

  std::vector<Node> nodes_;
  size_t root_ = 0;
};

}  // namespace atalaya::protocols
