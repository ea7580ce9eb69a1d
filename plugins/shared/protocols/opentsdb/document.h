// SPDX-License-Identifier: Apache-2.0
// Extracts the members of JSON objects that json_reader interprets, as texts.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace atalaya::protocols {

// A value as its sender wrote it. Numbers remain texts, so that no digit is lost before their type is known.
struct Scalar {
  enum class Type { absent, null, string, number, boolean, other };  // other: an object or a list
  Type type = Type::absent;
  std::string_view text;

  bool is_text() const { return type == Type::string || type == Type::number || type == Type::boolean; }
  bool is_absent() const { return type == Type::absent || type == Type::null; }
};

struct Member {
  std::string_view key;
  Scalar value;
};

// One object. If a key occurs several times, its last value is used. More than 1,024 tags or fields are invalid.
struct Document {
  Scalar metric, timestamp, value;    // a point
  Scalar hostname, stack;             // a stack, with timestamp and value
  Scalar span, start, end;            // a span
  Scalar kind, time, duration, text;  // a complete sample
  // types of the members `tags` and `fields`; only `other` is valid
  Scalar::Type tags_type = Scalar::Type::absent, fields_type = Scalar::Type::absent;
  std::vector<Member> tags, fields;

  void clear();
};

// Reads JSON texts. A reused reader allocates nothing. The texts of documents are valid until the next call.
class DocumentReader {
 public:
  DocumentReader();
  ~DocumentReader();
  DocumentReader(const DocumentReader &) = delete;
  DocumentReader &operator=(const DocumentReader &) = delete;

  // Bytes that must be readable after every text.
  static constexpr size_t kPadding = 64;

  // Calls take(document) for the text's single object, or for each object of its list. False for invalid JSON, after the calls for
  // the documents before the error.
  template <class Callback>
  bool read(std::string_view text, Callback &&take) {
    if (!begin(text)) return false;
    while (next()) take(static_cast<const Document &>(document_));
    return finished();
  }

 private:
  bool begin(std::string_view text);
  bool next();
  bool finished() const;

  struct State;
  std::unique_ptr<State> state_;
  Document document_;
};

}  // namespace atalaya::protocols
