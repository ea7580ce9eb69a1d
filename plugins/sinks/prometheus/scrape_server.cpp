// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/prometheus/scrape_server.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "plugins/sinks/prometheus/negotiation.h"

namespace atalaya::prometheus {
namespace {

constexpr int kGzipLevel = 1;  // higher levels cost much more time and save little, because the body is repetitive text
constexpr int kGzipWindow = 15 + 16;
constexpr int kGzipMemory = 8;

// Compresses the text; returns nothing on a failure: the text is sent uncompressed then.
std::optional<std::string> gzip(const std::string &text) {
  z_stream stream{};
  if (text.size() > std::numeric_limits<uInt>::max()) return std::nullopt;
  if (::deflateInit2(&stream, kGzipLevel, Z_DEFLATED, kGzipWindow, kGzipMemory, Z_DEFAULT_STRATEGY) != Z_OK) return std::nullopt;
  const std::unique_ptr<z_stream, int (*)(z_stream *)> end(&stream, ::deflateEnd);
  std::string out;
  std::string piece(size_t{1} << 16, '\0');
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  int state = Z_OK;
  while (state == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef *>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    state = ::deflate(&stream, Z_FINISH);
    out.append(piece, 0, piece.size() - stream.avail_out);
  }
  return state == Z_STREAM_END ? std::optional(std::move(out)) : std::nullopt;
}

// Creates a response that owns the text until its last byte is sent.
MHD_Response *response_of(std::string text) {
  auto held = std::make_unique<std::string>(std::move(text));
  MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
      held->size(), held->data(), [](void *gone) { delete static_cast<std::string *>(gone); }, held.get());
  if (response != nullptr) static_cast<void>(held.release());
  return response;
}

MHD_Result queue(MHD_Connection *connection, unsigned status, MHD_Response *response) {
  const MHD_Result queued = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);
  return queued;
}

}  // namespace

ScrapeServer::ScrapeServer(const ServerOptions &options, SeriesTable &table, Host host, http_server::Tokens *tokens)
    : options_(options),
      table_(table),
      host_(host),
      exposition_(options.staleness, options.timestamps),
      daemon_(options.http, tokens, *this, [host](std::string_view text) { host.log(Level::warning, text); }) {}

// Answers when the request is complete; ignores its body.
MHD_Result ScrapeServer::on_request(MHD_Connection *connection, const char *url, const char *method, const char *, size_t *size,
                                    void **context) {
  if (*context == nullptr) {
    *context = this;
    return MHD_YES;
  }
  if (*size > 0) {
    *size = 0;
    return MHD_YES;
  }
  return answer(connection, url, method);
}

MHD_Result ScrapeServer::answer(MHD_Connection *connection, std::string_view url, std::string_view method) {
  if (url != options_.path) return refuse(connection, MHD_HTTP_NOT_FOUND, "metrics are at " + options_.path);
  if (const auto refused = daemon_.refusal(connection, method)) return refuse(connection, refused->status, refused->why);
  if (method != MHD_HTTP_METHOD_GET && method != MHD_HTTP_METHOD_HEAD)
    return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET and HEAD are answered here");
  return expose(connection);
}

MHD_Result ScrapeServer::refuse(MHD_Connection *connection, unsigned status, std::string_view why) const {
  MHD_Response *response = response_of(std::string(why) + "\n");
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain; charset=utf-8");
  if (status == MHD_HTTP_METHOD_NOT_ALLOWED) MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  http_server::Daemon::add_headers(response, status);
  return queue(connection, status, response);
}

MHD_Result ScrapeServer::expose(MHD_Connection *connection) {
  const Form form = negotiate_form(http_server::header(connection, MHD_HTTP_HEADER_ACCEPT));
  std::string text = body(form);
  const bool asked = takes_gzip(http_server::header(connection, MHD_HTTP_HEADER_ACCEPT_ENCODING));
  std::optional<std::string> compressed = asked ? gzip(text) : std::nullopt;
  MHD_Response *response = response_of(compressed ? std::move(*compressed) : std::move(text));
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type(form));
  if (compressed) MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
  MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, "Accept, Accept-Encoding");
  return queue(connection, MHD_HTTP_OK, response);
}

std::string ScrapeServer::body(Form form) {
  std::string text;
  text.reserve(last_size_ + last_size_ / 8);
  table_.snapshot(snapshot_, {host_.monotonic(), host_.realtime()});
  // Called also after an exception (out of memory): removed entities are kept until the release.
  const std::unique_ptr<SeriesTable, void (*)(SeriesTable *)> end(&table_, [](SeriesTable *table) { table->release_snapshot(); });
  exposition_.write(snapshot_, form, text);
  last_size_ = text.size();
  return text;
}

}  // namespace atalaya::prometheus
