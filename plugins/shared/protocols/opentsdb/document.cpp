// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/opentsdb/document.h"

#include <simdjson.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>

#include "plugins/shared/protocols/opentsdb/member_index.h"

namespace atalaya::protocols {
namespace {

namespace ondemand = simdjson::ondemand;
using simdjson::SUCCESS;

static_assert(DocumentReader::kPadding >= simdjson::SIMDJSON_PADDING);

// Thrown for invalid JSON; the reader catches it.
struct Malformed {};

void must(simdjson::error_code error) {
  if (error != SUCCESS) throw Malformed{};
}

// JSON whitespace: the lazy parser does not check the byte after a number or a literal.
std::string_view trimmed(std::string_view text) {
  const size_t last = text.find_last_not_of(" \t\r\n");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

bool digits(std::string_view &text) {
  const size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(count);
  return count > 0;
}

bool eat(std::string_view &text, std::string_view any) {
  if (text.empty() || any.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// The grammar of RFC 8259: a lazy parser does not check numbers that are not converted.
bool is_json_number(std::string_view text) {
  eat(text, "-");
  if (text.starts_with('0')) {
    text.remove_prefix(1);
  } else if (!digits(text)) {
    return false;
  }
  if (eat(text, ".") && !digits(text)) return false;
  if (eat(text, "eE")) {
    eat(text, "+-");
    if (!digits(text)) return false;
  }
  return text.empty();
}

Scalar read_scalar(ondemand::value value) {
  ondemand::json_type type{};
  must(value.type().get(type));
  Scalar result;
  switch (type) {
    case ondemand::json_type::string:
      must(value.get_string().get(result.text));
      result.type = Scalar::Type::string;
      return result;
    case ondemand::json_type::number:
      result = {Scalar::Type::number, trimmed(value.raw_json_token())};
      if (!is_json_number(result.text)) throw Malformed{};
      return result;
    case ondemand::json_type::boolean:
      result = {Scalar::Type::boolean, trimmed(value.raw_json_token())};
      if (result.text != "true" && result.text != "false") throw Malformed{};
      return result;
    case ondemand::json_type::null:
      result.type = Scalar::Type::null;
      if (trimmed(value.raw_json_token()) != "null") throw Malformed{};
      return result;
    default:
      result.type = Scalar::Type::other;
      return result;
  }
}

void read_members(ondemand::value value, Scalar::Type &type, MemberIndex &index, std::vector<Member> &out) {
  out.clear();
  index.clear();
  ondemand::json_type json{};
  must(value.type().get(json));
  if (json != ondemand::json_type::object) {
    type = read_scalar(value).type;
    if (type == Scalar::Type::other) type = Scalar::Type::string;  // a list is as invalid as a text
    return;
  }
  type = Scalar::Type::other;
  ondemand::object object;
  must(value.get_object().get(object));
  for (auto entry : object) {
    ondemand::field field;
    must(std::move(entry).get(field));
    Member member;
    must(field.unescaped_key().get(member.key));
    member.value = read_scalar(field.value());
    if (Member *same = index.find_or_add(member.key, out); same != nullptr) {
      same->value = member.value;
      continue;
    }
    if (out.size() == kMaxMembers) throw Malformed{};
    out.push_back(member);
  }
}

Scalar *scalar_of(Document &document, std::string_view key) {
  struct Word {
    std::string_view key;
    Scalar Document::*scalar;
  };
  static constexpr Word kWords[] = {
      {"metric", &Document::metric},     {"timestamp", &Document::timestamp},
      {"value", &Document::value},       {"hostname", &Document::hostname},
      {"stack", &Document::stack},       {"span", &Document::span},
      {"start", &Document::start},       {"end", &Document::end},
      {"kind", &Document::kind},         {"time", &Document::time},
      {"duration", &Document::duration}, {"text", &Document::text},
  };
  for (const Word &word : kWords)
    if (word.key == key) return &(document.*word.scalar);
  return nullptr;
}

void read_object(ondemand::object object, MemberIndex &index, Document &document) {
  document.clear();
  for (auto entry : object) {
    ondemand::field field;
    must(std::move(entry).get(field));
    std::string_view key;
    must(field.unescaped_key().get(key));
    if (key == "tags") {
      read_members(field.value(), document.tags_type, index, document.tags);
    } else if (key == "fields") {
      read_members(field.value(), document.fields_type, index, document.fields);
    } else if (Scalar *scalar = scalar_of(document, key); scalar != nullptr) {
      *scalar = read_scalar(field.value());
    }
  }
}

}  // namespace

void Document::clear() {
  metric = timestamp = value = hostname = stack = span = start = end = kind = time = duration = text = Scalar{};
  tags_type = fields_type = Scalar::Type::absent;
  tags.clear();
  fields.clear();
}

struct DocumentReader::State {
  ondemand::parser parser;
  ondemand::document json;
  ondemand::array list;
  ondemand::array_iterator at, end;
  MemberIndex index;
  bool is_list = false, first = false, failed = false, over = false;

  bool advance(Document &document) {
    if (!is_list) {
      if (over) return false;
      ondemand::object object;
      must(json.get_object().get(object));
      read_object(object, index, document);
      return over = true;
    }
    if (!first) ++at;
    first = false;
    if (!(at != end)) {
      over = true;
      return false;
    }
    ondemand::value element;
    must((*at).get(element));
    ondemand::object object;
    must(element.get_object().get(object));
    read_object(object, index, document);
    return true;
  }
};

DocumentReader::DocumentReader() : state_(std::make_unique<State>()) {}
DocumentReader::~DocumentReader() = default;

bool DocumentReader::begin(std::string_view text) {
  State &state = *state_;
  state.failed = true;
  state.over = false;
  const simdjson::padded_string_view padded(text.data(), text.size(), text.size() + kPadding);
  if (state.parser.iterate(padded).get(state.json) != SUCCESS) return false;
  ondemand::json_type type{};
  if (state.json.type().get(type) != SUCCESS) return false;
  state.is_list = type == ondemand::json_type::array;
  if (!state.is_list && type != ondemand::json_type::object) return false;
  if (state.is_list) {
    if (state.json.get_array().get(state.list) != SUCCESS) return false;
    if (state.list.begin().get(state.at) != SUCCESS || state.list.end().get(state.end) != SUCCESS) return false;
    state.first = true;
  }
  state.failed = false;
  return true;
}

bool DocumentReader::next() {
  try {
    return state_->advance(document_);
  } catch (const Malformed &) {
    state_->failed = true;
    return false;
  }
}

// Nothing may follow: a second text would be lost silently.
bool DocumentReader::finished() const {
  return !state_->failed && state_->over && state_->json.current_location().error() == simdjson::OUT_OF_BOUNDS;
}

}  // namespace atalaya::protocols
