// SPDX-License-Identifier: Apache-2.0
// The words of a JSON object that the formats of this source know, as text: what each format makes of them is json_reader's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace atalaya::receive {

// A value as it was sent. Numbers keep their spelling, so that none loses a digit before it is known what it shall be.
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

// One object. Of a key that comes twice the last one counts. More than 1,024 tags or fields are as wrong as no JSON.
struct Document {
  Scalar metric, timestamp, value;                                                    // a point
  Scalar hostname, stack;                                                             // a stack, with timestamp and value
  Scalar span, start, end;                                                            // a span
  Scalar kind, time, duration, text;                                                  // a sample as it is
  Scalar::Type tags_type = Scalar::Type::absent, fields_type = Scalar::Type::absent;  // `other` is right
  std::vector<Member> tags, fields;

  void clear();
};

// Reads JSON texts; reused, so that it allocates nothing in steady state. Texts of documents are valid until the next call.
class DocumentReader {
 public:
  DocumentReader();
  ~DocumentReader();
  DocumentReader(const DocumentReader &) = delete;
  DocumentReader &operator=(const DocumentReader &) = delete;

  // Room that has to be readable behind every text.
  static constexpr size_t kPadding = 64;

  // Calls take(document) for the one object, or for each object of the list, that the text is. False: the text is no such JSON;
  // documents before the fault have been taken.
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

// Whole, or nothing. A sign '+' is allowed, as OpenTSDB does.
std::optional<int64_t> parse_integer(std::string_view text);
// Finite or not: what is too large is infinite.
std::optional<double> parse_real(std::string_view text);

}  // namespace atalaya::receive
