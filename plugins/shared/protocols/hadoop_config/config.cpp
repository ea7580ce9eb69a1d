// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/hadoop_config/config.h"

#include <expat.h>

#include <memory>
#include <new>
#include <optional>
#include <unordered_map>

#include "core/base/text/text.h"

namespace atalaya::hadoop_config {
namespace {

constexpr size_t kMaxDepth = 16;  // configuration, property, value: Hadoop writes three

// A property that is being read.
struct Pending {
  std::string key, value, final_word;
  bool has_value = false, too_long = false;
};

// The state of one parser. Exceptions must not cross expat's frames: handlers store them and stop parsing.
class Reader {
 public:
  explicit Reader(Config &out) : out_(out), parser_(XML_ParserCreate(nullptr)) {
    if (!parser_) throw std::bad_alloc();
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(parser_.get(), on_start, on_end);
    XML_SetCharacterDataHandler(parser_.get(), on_text);
    XML_SetEntityDeclHandler(parser_.get(), on_entity);
  }

  void read(std::string_view xml) {
    const XML_Status status = XML_Parse(parser_.get(), xml.data(), static_cast<int>(xml.size()), XML_TRUE);
    if (out_of_memory_) throw std::bad_alloc();
    if (status == XML_STATUS_OK) return;
    const std::string why = stopped_.empty() ? XML_ErrorString(XML_GetErrorCode(parser_.get())) : stopped_;
    out_.problem = "line " + std::to_string(XML_GetCurrentLineNumber(parser_.get())) + ": " + why;
  }

 private:
  struct Known {
    size_t index = 0;
    bool final = false;
  };
  struct Free {
    void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
  };

  template <class Body>
  static void guarded(void *self, Body body) noexcept {
    auto &reader = *static_cast<Reader *>(self);
    try {
      body(reader);
    } catch (const std::bad_alloc &) {
      reader.out_of_memory_ = true;
      reader.stop("out of memory");
    }
  }
  static void XMLCALL on_start(void *self, const XML_Char *name, const XML_Char **attributes) {
    guarded(self, [&](Reader &reader) { reader.start(name, attributes); });
  }
  static void XMLCALL on_end(void *self, const XML_Char *name) {
    guarded(self, [&](Reader &reader) { reader.end(name); });
  }
  static void XMLCALL on_text(void *self, const XML_Char *text, int size) {
    guarded(self, [&](Reader &reader) { reader.text({text, static_cast<size_t>(size)}); });
  }
  static void XMLCALL on_entity(void *self, const XML_Char *, int, const XML_Char *, int, const XML_Char *, const XML_Char *,
                                const XML_Char *, const XML_Char *) {
    guarded(self, [](Reader &reader) { reader.stop("entity declarations are not allowed"); });
  }

  void stop(const char *why) {
    if (stopped_.empty()) stopped_ = why;
    XML_StopParser(parser_.get(), XML_FALSE);
  }

  void start(std::string_view name, const XML_Char **attributes) {
    if (++depth_ > kMaxDepth) return stop("elements are nested too deeply");
    if (name == "property") {
      pending_.emplace();
      into_ = nullptr;
      for (; attributes[0] != nullptr; attributes += 2) take_attribute(attributes[0], attributes[1]);
      return;
    }
    if (pending_) into_ = place_of(name);
  }
  // The short form: <property name="a" value="b"/>.
  void take_attribute(std::string_view name, std::string_view value) {
    into_ = place_of(name);
    text(value);
    into_ = nullptr;
  }
  std::string *place_of(std::string_view name) {
    if (name == "name") return &pending_->key;
    if (name == "final") return &pending_->final_word;
    if (name != "value") return nullptr;  // description, source
    pending_->has_value = true;
    return &pending_->value;
  }
  void text(std::string_view piece) {
    if (into_ == nullptr || !pending_) return;
    if (into_->size() + piece.size() > kMaxText) {
      pending_->too_long = true;
    } else {
      *into_ += piece;
    }
  }
  void end(std::string_view name) {
    --depth_;
    into_ = nullptr;
    if (name != "property" || !pending_) return;
    if (!take(*pending_)) ++out_.skipped;
    pending_.reset();
  }
  bool take(Pending &pending) {
    const std::string key(core::trimmed(pending.key));
    if (key.empty() || !pending.has_value || pending.too_long) return false;
    if (bytes_ += key.size() + pending.value.size(); bytes_ > kMaxValues) return false;
    const bool is_final = core::trimmed(pending.final_word) == "true";
    if (const auto known = known_.find(key); known != known_.end()) {
      if (known->second.final) return true;
      out_.properties[known->second.index].value = std::move(pending.value);
      known->second.final = is_final;
      return true;
    }
    if (out_.properties.size() >= kMaxProperties) return false;
    known_.emplace(key, Known{out_.properties.size(), is_final});
    out_.properties.push_back({key, std::move(pending.value)});
    return true;
  }

  Config &out_;
  std::unique_ptr<XML_ParserStruct, Free> parser_;
  std::unordered_map<std::string, Known> known_;
  std::optional<Pending> pending_;  // the property that is open
  std::string *into_ = nullptr;     // destination of text
  std::string stopped_;             // reason why a handler stopped the parsing
  size_t depth_ = 0, bytes_ = 0;
  bool out_of_memory_ = false;
};

}  // namespace

Config read_config(std::string_view xml) {
  Config config;
  if (xml.size() > kMaxFile) {
    config.problem = "larger than " + std::to_string(kMaxFile >> 20) + " MiB";
    return config;
  }
  Reader(config).read(xml);
  return config;
}

}  // namespace atalaya::hadoop_config
