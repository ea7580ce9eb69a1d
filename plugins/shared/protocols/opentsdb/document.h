// SPDX-License-Identifier: Apache-2.0
// Extracts the members of a JSON object that the formats of this source use, as text; json_reader interprets them.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace atalaya::protocols {

// A value as sent. Numbers stay text, so that no digit is lost before their type is known.
struct Scalar {
  enum class Type { absent, null, string, number, boolean, other };  // other: an object or a list
  Type type = Type::absent;
  std::string_view text;

  bool is_text() const { return type == Type::string || type == Type::number || type == Type::boolean; }
  bool is_nothing() const { return type == Type::absent || type == Type::null; }
};

struct Member {
  std::string_view key;
  Scalar value;
};

// One object. The last of duplicate keys wins. More than 1,024 tags or fields count as invalid JSON.
struct Document {
  Scalar metric, timestamp, value;                                                    // a point
  Scalar hostname, stack;                                                             // a stack, with timestamp and value
  Scalar span, start, end;                                                            // a span
  Scalar kind, time, duration, text;                                                  // a complete sample
  Scalar::Type tags_type = Scalar::Type::absent, fields_type = Scalar::Type::absent;  // valid: `other`
  std::vector<Member> tags, fields;

  void clear();
};

// Reads JSON texts; reusable without allocation. Texts of documents are valid until the next call.
class DocumentReader {
 public:
  DocumentReader();
  ~DocumentReader();
  DocumentReader(const DocumentReader &) = delete;
  DocumentReader &operator=(const DocumentReader &) = delete;

  // Bytes that must be readable after every text.
  static constexpr size_t kPadding = 64;

  // Calls take(document) for the text's single object, or for each object of its list. False: invalid JSON;
  // take was called for documents before the error.
  template <class Take>
  bool read(std::string_view text, Take &&take) {
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
