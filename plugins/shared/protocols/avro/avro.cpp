// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/avro/avro.h"

#include <bit>
#include <cmath>
#include <map>

#include "core/base/text/json_writer.h"
#include "plugins/shared/io/json/json_values.h"

namespace atalaya::protocols {
namespace {

using simdjson::SUCCESS;

constexpr size_t kMaxSchema = size_t{1} << 20;
constexpr size_t kMaxNodes = 10'000;
constexpr size_t kMaxDepth = 32;
constexpr size_t kMaxJson = size_t{32} << 20;  // of one value
constexpr size_t kMaxItems = 1'000'000;        // in lists and maps of one value: items may take no bytes

}  // namespace

// Reads the schema's JSON; later references find named types by name.
class AvroSchema::Builder {
 public:
  explicit Builder(std::vector<Node> &nodes) : nodes_(nodes) {}

  // The node's number; false: not a type.
  bool type(io::JsonElement from, const std::string &space, size_t depth, size_t &out) {
    if (depth > kMaxDepth || nodes_.size() >= kMaxNodes) return false;
    std::string_view name;
    io::JsonObject object;
    simdjson::dom::array branches;
    if (from.get(name) == SUCCESS) return by_name(name, space, out);
    if (from.get(branches) == SUCCESS) return choice(branches, space, depth, out);
    return from.get(object) == SUCCESS && complex(object, space, depth, out);
  }

 private:
  size_t add(Type type, std::string_view name) {
    nodes_.push_back({type, std::string(name), {}, {}, 0});
    return nodes_.size() - 1;
  }

  bool by_name(std::string_view name, const std::string &space, size_t &out) {
    static const std::map<std::string_view, Type> simple = {
        {"null", Type::null},    {"boolean", Type::boolean}, {"int", Type::integer}, {"long", Type::integer},
        {"float", Type::real32}, {"double", Type::real64},   {"bytes", Type::bytes}, {"string", Type::text}};
    if (const auto known = simple.find(name); known != simple.end()) {
      out = add(known->second, name);
      return true;
    }
    const auto named = names_.find(full(name, space));
    if (named == names_.end()) return false;
    out = named->second;
    return true;
  }
  static std::string full(std::string_view name, const std::string &space) {
    return name.find('.') != std::string_view::npos || space.empty() ? std::string(name) : space + "." + std::string(name);
  }

  bool choice(const simdjson::dom::array &branches, const std::string &space, size_t depth, size_t &out) {
    out = add(Type::choice, "");
    for (const io::JsonElement branch : branches)
      if (!add_part(out, branch, space, depth)) return false;
    return true;
  }
  bool add_part(size_t of, io::JsonElement from, const std::string &space, size_t depth) {
    size_t part = 0;
    if (!type(from, space, depth + 1, part)) return false;
    nodes_[of].parts.push_back(part);
    return true;
  }

  bool complex(const io::JsonObject &from, std::string space, size_t depth, size_t &out) {
    const std::string_view kind = io::text_of(from, "type");
    if (kind.empty()) {  // {"type": {"type": "array", ...}}
      const auto inner = io::member(from, "type");
      return inner && type(*inner, space, depth + 1, out);
    }
    if (kind == "array" || kind == "map") {
      out = add(kind == "array" ? Type::list : Type::map, kind);
      const auto items = io::member(from, kind == "array" ? "items" : "values");
      return items && add_part(out, *items, space, depth);
    }
    if (kind != "record" && kind != "enum" && kind != "fixed") return by_name(kind, space, out);
    if (const std::string_view own = io::text_of(from, "namespace"); !own.empty()) space = own;
    const std::string name = full(io::text_of(from, "name"), space);
    if (const size_t dot = name.rfind('.'); dot != std::string::npos) space = name.substr(0, dot);
    out = add(kind == "record" ? Type::record : kind == "enum" ? Type::enumeration : Type::fixed, name);
    names_[name] = out;
    if (kind == "record") return fields(from, space, depth, out);
    return kind == "enum" ? symbols(from, out) : fixed_size(from, out);
  }
  bool fields(const io::JsonObject &from, const std::string &space, size_t depth, size_t of) {
    simdjson::dom::array list;
    const auto found = io::member(from, "fields");
    if (!found || found->get(list) != SUCCESS) return false;
    for (const io::JsonElement element : list) {
      io::JsonObject field;
      if (element.get(field) != SUCCESS) return false;
      const auto field_type = io::member(field, "type");
      if (!field_type || !add_part(of, *field_type, space, depth)) return false;
      nodes_[of].names.emplace_back(io::text_of(field, "name"));
    }
    return true;
  }
  bool symbols(const io::JsonObject &from, size_t of) {
    simdjson::dom::array list;
    const auto found = io::member(from, "symbols");
    if (!found || found->get(list) != SUCCESS) return false;
    for (const io::JsonElement element : list) {
      std::string_view word;
      if (element.get(word) != SUCCESS) return false;
      nodes_[of].names.emplace_back(word);
    }
    return true;
  }
  bool fixed_size(const io::JsonObject &from, size_t of) {
    const auto size = io::integer_of(from, "size");
    if (!size || *size < 0 || *size > int64_t{1} << 20) return false;
    nodes_[of].size = static_cast<size_t>(*size);
    return true;
  }

  std::vector<Node> &nodes_;
  std::map<std::string, size_t> names_;
};

// Converts one value's bytes to JSON, up to the first error.
class AvroSchema::Decoder {
 public:
  Decoder(const std::vector<Node> &nodes, std::string_view bytes, std::string &json)
      : nodes_(nodes), bytes_(bytes), text_(json), json_(json) {}

  Found found() const { return found_; }
  size_t used() const { return at_; }

  bool value(size_t number, size_t depth) {
    const Node &node = nodes_[number];
    if (depth > kMaxDepth || text_.size() > kMaxJson) return wrong();
    switch (node.type) {
      case Type::null:
        json_.null();
        return true;
      case Type::boolean:
        return boolean();
      case Type::integer:
        return integer();
      case Type::real32:
        return real(4);
      case Type::real64:
        return real(8);
      case Type::bytes:
      case Type::text:
        return text();
      case Type::fixed:
        return quoted(static_cast<int64_t>(node.size));
      case Type::enumeration:
        return enumeration(node);
      case Type::record:
        return record(node, depth);
      case Type::choice:
        return choice(node, depth);
      case Type::list:
      case Type::map:
        return items(node, depth);
    }
    return wrong();
  }

 private:
  bool wrong() {
    if (found_ == Found::value) found_ = Found::malformed;
    return false;
  }
  bool missing() {
    if (found_ == Found::value) found_ = Found::incomplete;
    return false;
  }
  bool take(size_t size, std::string_view &out) {
    if (bytes_.size() - at_ < size) return missing();
    out = bytes_.substr(at_, size);
    at_ += size;
    return true;
  }
  // Seven bits per byte, least significant first; the sign is the lowest bit.
  bool number(int64_t &out) {
    uint64_t zigzag = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ >= bytes_.size()) return missing();
      const auto byte = static_cast<uint8_t>(bytes_[at_++]);
      zigzag |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) != 0) continue;
      out = static_cast<int64_t>((zigzag >> 1) ^ (~(zigzag & 1) + 1));
      return true;
    }
    return wrong();
  }

  bool boolean() {
    std::string_view byte;
    if (!take(1, byte)) return false;
    json_.boolean(byte[0] != 0);
    return true;
  }
  bool integer() {
    int64_t value = 0;
    if (!number(value)) return false;
    json_.integer(value);
    return true;
  }
  bool real(size_t size) {
    std::string_view raw;
    if (!take(size, raw)) return false;
    uint64_t bits = 0;
    for (size_t i = 0; i < size; ++i) bits |= static_cast<uint64_t>(static_cast<uint8_t>(raw[i])) << (8 * i);
    const double value =
        size == 8 ? std::bit_cast<double>(bits) : static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    std::isfinite(value) ? json_.real(value) : json_.null();
    return true;
  }
  bool take_text(int64_t size, std::string_view &out) {
    if (size < 0 || static_cast<uint64_t>(size) > kMaxJson) return wrong();
    return take(static_cast<size_t>(size), out);
  }
  bool quoted(int64_t size) {
    std::string_view raw;
    if (!take_text(size, raw)) return false;
    json_.text(raw);
    return true;
  }
  bool text() {
    int64_t size = 0;
    return number(size) && quoted(size);
  }
  bool key() {
    int64_t size = 0;
    std::string_view raw;
    if (!number(size) || !take_text(size, raw)) return false;
    json_.key(raw);
    return true;
  }
  bool enumeration(const Node &node) {
    int64_t index = 0;
    if (!number(index)) return false;
    if (index < 0 || static_cast<uint64_t>(index) >= node.names.size()) return wrong();
    json_.text(node.names[static_cast<size_t>(index)]);
    return true;
  }
  bool record(const Node &node, size_t depth) {
    json_.object();
    for (size_t i = 0; i < node.parts.size(); ++i) {
      json_.key(node.names[i]);
      if (!value(node.parts[i], depth + 1)) return false;
    }
    json_.end_object();
    return true;
  }
  bool choice(const Node &node, size_t depth) {
    int64_t index = 0;
    if (!number(index)) return false;
    if (index < 0 || static_cast<uint64_t>(index) >= node.parts.size()) return wrong();
    const size_t branch = node.parts[static_cast<size_t>(index)];
    if (nodes_[branch].type == Type::null) return value(branch, depth + 1);
    json_.object().key(nodes_[branch].name);
    if (!value(branch, depth + 1)) return false;
    json_.end_object();
    return true;
  }
  // Blocks of items, until an empty one; a negative count is followed by the block's size.
  bool items(const Node &node, size_t depth) {
    const bool map = node.type == Type::map;
    map ? json_.object() : json_.list();
    for (;;) {
      int64_t count = 0, size = 0;
      if (!number(count)) return false;
      if (count == 0) break;
      if (count == INT64_MIN) return wrong();
      if (count < 0 && !number(size)) return false;
      for (int64_t left = count < 0 ? -count : count; left > 0; --left) {
        if (++item_count_ > kMaxItems) return wrong();
        if (map && !key()) return false;
        const size_t before = at_;
        if (!value(node.parts[0], depth + 1)) return false;
        if (!map && at_ == before) return wrong();  // rejects lists of empty items, which could be huge
      }
    }
    map ? json_.end_object() : json_.end_list();
    return true;
  }

  const std::vector<Node> &nodes_;
  std::string_view bytes_;
  std::string &text_;
  core::JsonWriter json_;  // writes text_
  size_t at_ = 0, item_count_ = 0;
  Found found_ = Found::value;
};

core::Status AvroSchema::read(std::string_view json) {
  simdjson::dom::parser parser;
  io::JsonElement whole;
  nodes_.clear();
  if (json.size() <= kMaxSchema && parser.parse(json.data(), json.size()).get(whole) == SUCCESS &&
      Builder(nodes_).type(whole, "", 0, root_) && nodes_[root_].type == Type::record)
    return core::Done{};
  nodes_.clear();
  return core::Error{"not an Avro schema"};
}

AvroSchema::Found AvroSchema::to_json(std::string_view bytes, size_t &used, std::string &json) const {
  json.clear();
  used = 0;
  if (nodes_.empty()) return Found::malformed;
  Decoder decoder(nodes_, bytes, json);
  // A value without bytes would never end.
  if (decoder.value(root_, 0)) used = decoder.used();
  return decoder.found() == Found::value && used == 0 ? Found::malformed : decoder.found();
}

}  // namespace atalaya::protocols
