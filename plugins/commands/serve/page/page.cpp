// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/page/page.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "core/base/encode/crc32c.h"
#include "plugins/commands/serve/page/page_files.h"

namespace atalaya::serve {
namespace {

// The content security policy: the page loads only from this server and runs only its own scripts, whatever names the store
// contains.
constexpr const char *kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

struct File {
  std::string_view path, body;
  const char *content_type;
};

const File *file_of(std::string_view path) {
  static const std::array<File, 3> files{{{"/", kPageHtml, "text/html; charset=UTF-8"},
                                          {"/assets/app.js", kPageScript, "text/javascript; charset=UTF-8"},
                                          {"/assets/app.css", kPageSheet, "text/css; charset=UTF-8"}}};
  for (const File &file : files)
    if (file.path == path) return &file;
  return nullptr;
}

// The entity tag (ETag) of the page, in quotes: "1a2b3c4d-5678".
std::string tag_of(std::string_view body) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "\"%08x-%zu\"", core::crc32c(body), body.size());
  return text.data();
}

// Whether If-None-Match, a list of entity tags or *, contains the tag.
bool has_tag(std::string_view list, std::string_view tag) {
  return list == "*" || list.find(tag) != std::string_view::npos;
}

std::string how_to_build() {
  return "This build of atalaya has no page (" + std::string(kNoPageReason) +
         ").\n\nTo build it, install npm and esbuild (Debian: apt install npm esbuild) and run ./dev build.\n"
         "The APIs of OpenTSDB and Prometheus work without it: docs/reference/query.md.\n";
}

}  // namespace

bool has_page() {
  return kNoPageReason.empty();
}

std::optional<Answer> page_answer(const Request &request) {
  if (request.method != "GET" && request.method != "HEAD") return std::nullopt;
  const File *file = file_of(request.path);
  if (file == nullptr || (!has_page() && file->path != "/")) return std::nullopt;
  Answer answer;
  answer.headers = {{"Content-Security-Policy", kPolicy},
                    {"Referrer-Policy", "no-referrer"},
                    {"Cross-Origin-Resource-Policy", "same-origin"},
                    {"Cache-Control", "no-cache"}};
  if (!has_page()) {
    answer.body = how_to_build();
    answer.content_type = "text/plain; charset=UTF-8";
    return answer;
  }
  const std::string tag = tag_of(file->body);
  answer.headers.emplace_back("ETag", tag);
  answer.content_type = file->content_type;
  if (has_tag(request.known_tag, tag))
    answer.status = 304;
  else
    answer.body = file->body;
  return answer;
}

}  // namespace atalaya::serve
