// SPDX-License-Identifier: Apache-2.0
// Each rule of Avro's binary encoding.
#include "plugins/shared/protocols/avro/avro.h"

#include <doctest/doctest.h>

#include <string>

namespace atalaya::protocols::testing {
namespace {

using namespace std::string_literals;
using Found = AvroSchema::Found;

AvroSchema schema_of(const std::string &fields) {
  AvroSchema schema;
  REQUIRE(schema.read(R"({"type":"record","name":"R","namespace":"a.b","fields":[)" + fields + "]}"));
  return schema;
}
std::string field(const std::string &type) {
  return R"({"name":"x","type":)" + type + "}";
}
// The bytes of one field as JSON, or the error code if there are none.
std::string decoded(const std::string &type, const std::string &bytes) {
  size_t used = 0;
  std::string json;
  const Found found = schema_of(field(type)).to_json(bytes, used, json);
  if (found == Found::incomplete) return "incomplete";
  if (found == Found::malformed) return "malformed";
  CHECK(used == bytes.size());
  return json.substr(5, json.size() - 6);  // {"x":...}
}

}  // namespace

TEST_CASE("avro: each type, by the examples of its specification and beyond") {
  CHECK(decoded("\"int\"", "\x01"s) == "-1");
  CHECK(decoded("\"long\"", "\x80\x01"s) == "64");
  CHECK(decoded("\"long\"", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s) == "-9223372036854775808");
  CHECK(decoded("\"string\"", "\x06"s + "foo") == "\"foo\"");
  CHECK(decoded("\"bytes\"", "\x04"s + "\"\n") == "\"\\\"\\n\"");
  CHECK(decoded("\"boolean\"", "\x01"s) == "true");
  CHECK(decoded("\"double\"", "\0\0\0\0\0\0\xf8\x3f"s) == "1.5");
  CHECK(decoded("\"float\"", "\0\0\xc0\xbf"s) == "-1.5");
  CHECK(decoded("\"double\"", "\0\0\0\0\0\0\xf8\x7f"s) == "null");
  CHECK(decoded(R"({"type":"enum","name":"E","symbols":["A","B"]})", "\x02"s) == "\"B\"");
  CHECK(decoded(R"({"type":"array","items":"long"})", "\x04\x06\x36\0"s) == "[3,27]");
  CHECK(decoded(R"({"type":"array","items":"long"})", "\x03\x04\x06\x36\x02\x08\0"s) == "[3,27,4]");
  CHECK(decoded(R"({"type":"map","values":"int"})", "\x02\x02"s + "k" + "\x02\0"s) == "{\"k\":1}");
  CHECK(decoded(R"(["null","string"])", "\x02\x02"s + "a") == R"({"string":"a"})");
  CHECK(decoded(R"(["null",{"type":"record","name":"S","fields":[]}])", "\x02"s) == R"({"a.b.S":{}})");
  CHECK(decoded(R"(["null","string"])", "\0"s) == "null");
  CHECK(decoded(R"({"type":"fixed","name":"F","size":2})", "ab") == "\"ab\"");
  CHECK(decoded(R"({"type":{"type":"string"}})", "\x02"s + "a") == "\"a\"");
}

TEST_CASE("avro: bytes that are cut wait, bytes that cannot be are refused") {
  CHECK(decoded("\"string\"", "\x06"s + "fo") == "incomplete");
  CHECK(decoded("\"long\"", "\x80"s) == "incomplete");
  CHECK(decoded("\"long\"", std::string(11, '\x80')) == "malformed");
  CHECK(decoded("\"string\"", "\x01"s) == "malformed");
  CHECK(decoded(R"({"type":"array","items":"null"})", "\x04\0"s) == "malformed");
  CHECK(decoded(R"({"type":"array","items":{"type":"record","name":"S","fields":[]}})", "\x04\0"s) == "malformed");
  CHECK(decoded(R"(["null","string"])", "\x04"s) == "malformed");
  CHECK(decoded(R"({"type":"enum","name":"E","symbols":["A"]})", "\x02"s) == "malformed");
  // A thousand million nothings, and a record in itself without an end.
  CHECK(decoded(R"({"type":"array","items":"null"})", "\x80\xa8\xd6\xb9\x07\0"s) == "malformed");
  CHECK(decoded("[\"null\",\"R\"]", std::string(200, '\x02')) == "malformed");
}

TEST_CASE("avro: an invalid schema is refused") {
  AvroSchema schema;
  for (const char *text :
       {"", "{}", "[]", "\"string\"", R"({"type":"record"})", R"({"type":"record","name":"R","fields":[{"name":"x"}]})",
        R"({"type":"record","name":"R","fields":[{"name":"x","type":"unknown"}]})"}) {
    const core::Status read = schema.read(text);
    REQUIRE_FALSE(read);
    CHECK(read.error() == "not an Avro schema");
  }
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += R"({"type":"array","items":)";
  CHECK_FALSE(schema.read(R"({"type":"record","name":"R","fields":[{"name":"x","type":)" + deep));
}

}  // namespace atalaya::protocols::testing
