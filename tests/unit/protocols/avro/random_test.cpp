// SPDX-License-Identifier: Apache-2.0
// Random schemas and values. The generator writes the bytes, and the JSON by a model of its own; fastavro wrote both, too.
#include <bit>
#include <cstdio>

#include "plugins/shared/io/json/json_values.h"
#include "plugins/shared/protocols/avro/avro.h"
#include "tests/unit/protocols/random.h"
#include "tests/unit/protocols/records.h"
#include "tests/unit/rounds.h"

namespace atalaya::protocols::testing {
namespace {

using Found = AvroSchema::Found;

// One form for numbers and escapes.
std::string canonical(std::string_view json) {
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  REQUIRE_MESSAGE(parser.parse(json.data(), json.size()).get(element) == simdjson::SUCCESS, json);
  return simdjson::to_string(element);
}

std::string zigzag(int64_t value) {
  uint64_t rest = value < 0 ? static_cast<uint64_t>(-(value + 1)) * 2 + 1 : static_cast<uint64_t>(value) * 2;
  std::string out;
  for (; rest > 127; rest /= 128) out += static_cast<char>(128 + rest % 128);
  return out + static_cast<char>(rest);
}

struct Value {
  std::string bytes, json;
};

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {
    const size_t fields = random_.between(1, 5);
    schema_ = R"({"type":"record","name":"R","namespace":"n","fields":[)";
    for (size_t i = 0; i < fields; ++i) {
      if (i > 0) schema_ += ',';
      types_.push_back(type(0));
      schema_ += R"({"name":"f)" + std::to_string(i) + R"(","type":)" + types_.back().schema + "}";
    }
    schema_ += "]}";
  }

  const std::string &schema() const { return schema_; }
  Value record() {
    Value out{"", "{"};
    for (size_t i = 0; i < types_.size(); ++i) {
      const Value field = value(types_[i]);
      out.bytes += field.bytes;
      out.json += (i > 0 ? ",\"f" : "\"f") + std::to_string(i) + "\":" + field.json;
    }
    out.json += '}';
    if (out.bytes.empty()) return record_without_bytes();
    return out;
  }
  bool has_bytes() const { return has_bytes_; }
  Random &random() { return random_; }

 private:
  struct Type {
    std::string kind, schema, name;  // name: of a branch of a union
    std::vector<Type> parts;
  };

  Value record_without_bytes() {
    has_bytes_ = false;
    return {};
  }

  Type type(int depth) {
    static const std::vector<std::string> simple = {"null", "boolean", "int", "long", "float", "double", "bytes", "string"};
    const uint64_t choice = random_.below(depth < 3 ? 14 : 10);
    if (choice < 8) {
      const std::string &kind = simple[choice];
      return {kind, random_.one_of(3) ? "{\"type\":\"" + kind + "\"}" : "\"" + kind + "\"", kind, {}};
    }
    const std::string name = "T" + std::to_string(names_++);
    if (choice == 8) return {"enum", R"({"type":"enum","name":")" + name + R"(","symbols":["A","B","C"]})", "n." + name, {}};
    if (choice == 9) return {"fixed", R"({"type":"fixed","name":")" + name + R"(","size":3})", "n." + name, {}};
    if (choice == 10) return list("array", "items", sized(depth));
    if (choice == 11) return list("map", "values", type(depth + 1));
    Type out{choice == 12 ? "union" : "record", "", "n." + name, {}};
    for (uint64_t i = random_.between(1, 3); i > 0; --i) out.parts.push_back(type(depth + 1));
    std::string parts;
    for (size_t i = 0; i < out.parts.size(); ++i) {
      if (i > 0) parts += ',';
      parts +=
          choice == 12 ? out.parts[i].schema : R"({"name":"x)" + std::to_string(i) + R"(","type":)" + out.parts[i].schema + "}";
    }
    out.schema = choice == 12 ? "[" + parts + "]" : R"({"type":"record","name":")" + name + R"(","fields":[)" + parts + "]}";
    return out;
  }
  // Lists of values without bytes are refused.
  Type sized(int depth) {
    for (;;)
      if (Type made = type(depth + 1); made.kind == "int" || made.kind == "string" || made.kind == "enum" || made.kind == "union")
        return made;
  }
  static Type list(const std::string &kind, const std::string &member, const Type &item) {
    return {kind, R"({"type":")" + kind + R"(",")" + member + "\":" + item.schema + "}", kind, {item}};
  }

  Value value(const Type &type) {
    if (type.kind == "null") return {"", "null"};
    if (type.kind == "boolean")
      return random_.one_of(2) ? Value{std::string(1, '\1'), "true"} : Value{std::string(1, '\0'), "false"};
    if (type.kind == "int" || type.kind == "long") {
      const auto number = static_cast<int64_t>(random_.below(uint64_t{1} << random_.between(1, 63))) * (random_.one_of(2) ? 1 : -1);
      return {zigzag(number), std::to_string(number)};
    }
    if (type.kind == "float" || type.kind == "double") return real(type.kind == "double");
    if (type.kind == "bytes" || type.kind == "string") return text(true);
    if (type.kind == "fixed") {
      const std::string bytes = random_.text("ab", 1) + "xy";
      return {bytes, "\"" + bytes + "\""};
    }
    if (type.kind == "enum") {
      const auto at = static_cast<int64_t>(random_.below(3));
      return {zigzag(at), std::string("\"") + "ABC"[at] + "\""};
    }
    if (type.kind == "union") {
      const uint64_t at = random_.below(type.parts.size());
      const Value inner = value(type.parts[at]);
      const std::string bytes = zigzag(static_cast<int64_t>(at)) + inner.bytes;
      if (type.parts[at].kind == "null") return {bytes, "null"};
      const std::string branch = type.parts[at].kind == "union" ? "" : type.parts[at].name;
      return {bytes, "{\"" + branch + "\":" + inner.json + "}"};
    }
    return type.kind == "record" ? fields(type) : items(type);
  }
  Value fields(const Type &type) {
    Value out{"", "{"};
    for (size_t i = 0; i < type.parts.size(); ++i) {
      const Value field = value(type.parts[i]);
      out.bytes += field.bytes;
      out.json += (i > 0 ? ",\"x" : "\"x") + std::to_string(i) + "\":" + field.json;
    }
    return {out.bytes, out.json + "}"};
  }
  Value items(const Type &type) {
    const bool map = type.kind == "map";
    Value out{"", map ? "{" : "["};
    int64_t number = 0;
    for (uint64_t blocks = random_.below(3); blocks > 0; --blocks) {
      std::string block;
      const auto count = static_cast<int64_t>(random_.between(1, 3));
      for (int64_t i = 0; i < count; ++i) {
        if (number > 0) out.json += ',';
        const std::string key = "k" + std::to_string(number++);
        if (map) block += zigzag(static_cast<int64_t>(key.size())) + key;
        if (map) out.json += "\"" + key + "\":";
        const Value item = value(type.parts[0]);
        block += item.bytes;
        out.json += item.json;
      }
      const bool sized = random_.one_of(2);
      out.bytes += sized ? zigzag(-count) + zigzag(static_cast<int64_t>(block.size())) : zigzag(count);
      out.bytes += block;
    }
    return {out.bytes + '\0', out.json + (map ? "}" : "]")};
  }
  // Multiples of a quarter are exact in both sizes.
  Value real(bool wide) {
    const double number = (static_cast<double>(random_.below(40'000)) - 20'000) / 4;
    const uint64_t bits = wide ? std::bit_cast<uint64_t>(number) : std::bit_cast<uint32_t>(static_cast<float>(number));
    std::string bytes;
    for (int i = 0; i < (wide ? 8 : 4); ++i) bytes += static_cast<char>(bits >> (8 * i));
    char json[32];
    std::snprintf(json, sizeof(json), "%.2f", number);
    return {bytes, json};
  }
  Value text(bool sized) {
    std::string bytes, json;
    for (uint64_t i = random_.below(sized && random_.one_of(9) ? 200 : 5); i > 0; --i) {
      const uint64_t kind = random_.below(4);
      bytes += kind == 0 ? "\"" : kind == 1 ? "\n" : kind == 2 ? "\xc3\xa9" : "a";
      json += kind == 0 ? "\\\"" : kind == 1 ? "\\n" : kind == 2 ? "\xc3\xa9" : "a";
    }
    return {zigzag(static_cast<int64_t>(bytes.size())) + bytes, "\"" + json + "\""};
  }

  Random random_;
  std::string schema_;
  std::vector<Type> types_;
  int names_ = 0;
  bool has_bytes_ = true;
};

}  // namespace

TEST_CASE("avro: two records of fastavro have the JSON of fastavro") {
  AvroSchema schema;
  REQUIRE(schema.read(fixture("avro/schema.json")));
  const std::string bytes = fixture("avro/records.bin"), expected = fixture("avro/records.json");
  std::string_view rest = bytes;
  for (const std::string &line : {expected.substr(0, expected.find('\n')), expected.substr(expected.find('\n') + 1)}) {
    size_t used = 0;
    std::string json;
    REQUIRE(schema.to_json(rest, used, json) == Found::value);
    CHECK(canonical(json) == canonical(line));
    rest.remove_prefix(used);
  }
  CHECK(rest.empty());
}

TEST_CASE("avro: random values of random schemas, and each part of their bytes waits for more") {
  for (uint32_t seed = 0; seed < test::rounds(4000); ++seed) {
    Generator generator(seed);
    AvroSchema schema;
    CAPTURE(seed);
    CAPTURE(generator.schema());
    REQUIRE(schema.read(generator.schema()));
    const Value value = generator.record();
    if (!generator.has_bytes()) continue;
    size_t used = 0;
    std::string json;
    REQUIRE(schema.to_json(value.bytes + "more", used, json) == Found::value);
    REQUIRE(used == value.bytes.size());
    REQUIRE(canonical(json) == canonical(value.json));
    const size_t cut = generator.random().below(value.bytes.size());
    REQUIRE(schema.to_json(std::string_view(value.bytes).substr(0, cut), used, json) == Found::incomplete);
  }
}

TEST_CASE("avro: mutated bytes and schemas are refused, or are values of valid JSON within their bytes") {
  for (uint32_t seed = 0; seed < test::rounds(4000); ++seed) {
    Generator generator(seed);
    Random &random = generator.random();
    std::string bytes = generator.record().bytes, text = generator.schema();
    if (random.one_of(4)) text[random.below(text.size())] = random.pick(std::string_view("{}[]\",:0x"));
    for (uint64_t i = random.between(1, 3); i > 0 && !bytes.empty(); --i)
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    AvroSchema schema;
    if (!schema.read(text)) continue;
    size_t used = 0;
    std::string json;
    CAPTURE(seed);
    if (schema.to_json(bytes, used, json) != Found::value) continue;
    REQUIRE(used > 0);
    REQUIRE(used <= bytes.size());
    canonical(json);
  }
}

}  // namespace atalaya::protocols::testing
