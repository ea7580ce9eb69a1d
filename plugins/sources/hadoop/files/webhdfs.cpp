// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/hadoop/files/webhdfs.h"

#include <Poco/URI.h>

#include "plugins/shared/io/http/client/words.h"
#include "plugins/shared/io/json/json_values.h"

namespace atalaya::hadoop {
namespace {

using http_client::Answer;
using simdjson::SUCCESS;

constexpr size_t kMaxList = size_t{64} << 20;  // bytes of a folder's listing
constexpr int kMaxRedirects = 4;
constexpr std::string_view kPlainScheme = "webhdfs://", kTlsScheme = "swebhdfs://";

// Returns true for a valid file name, which is not a path and cannot leave the folder.
bool is_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos;
}

bool read_status(const io::JsonObject &from, const std::string &url, Entry &out) {
  const std::string_view type = io::text_of(from, "type");
  const auto size = io::integer_of(from, "length"), changed = io::integer_of(from, "modificationTime");
  if ((type != "FILE" && type != "DIRECTORY") || !size || *size < 0 || !changed) return false;
  out = {url, static_cast<uint64_t>(*size), *changed, type == "DIRECTORY"};
  return true;
}

// Thrown if a name node does not answer, is on standby or in its start: another one may be active.
class NotActive : public Unreadable {
 public:
  using Unreadable::Unreadable;
};

class WebHdfs final : public Storage {
 public:
  WebHdfs(const std::string &base, const WebHdfsOptions &options) : user_(options.user), connection_(options_, deadlines_) {
    const bool tls = base.starts_with(kTlsScheme);
    server_ = base.substr(0, base.find('/', (tls ? kTlsScheme : kPlainScheme).size()));
    for (std::string_view names = std::string_view(server_).substr((tls ? kTlsScheme : kPlainScheme).size());;) {
      const size_t comma = names.find(',');
      webs_.push_back((tls ? "https://" : "http://") + std::string(names.substr(0, comma)));
      if (comma == std::string_view::npos) break;
      names.remove_prefix(comma + 1);
    }
    options_.tls = tls ? http_client::tls_context(options.tls) : nullptr;
    options_.timeout = options_.deadline = options.timeout;
    for (const std::string &web : webs_) http_client::parse_url(web, "/");  // reports an invalid address now
  }

  bool reads_at_end() const override { return false; }
  Entry status_of(const std::string &path) override { return read_file_status(ask(path, "GETFILESTATUS", "", kMaxList), path); }
  std::vector<Entry> list(const std::string &folder) override {
    return read_file_list(ask(folder, "LISTSTATUS", "", kMaxList), folder);
  }
  std::string read(const std::string &path, uint64_t offset, size_t size) override {
    return ask(path, "OPEN", "&offset=" + std::to_string(offset) + "&length=" + std::to_string(size), size);
  }

 private:
  std::string url_of(const std::string &path, const char *operation, const std::string &more) const {
    std::string encoded, user;
    Poco::URI::encode(path.substr(server_.size()), "?#%&+;=", encoded);
    if (!user_.empty()) Poco::URI::encode(user_, "?#%&+;=/", user);
    return webs_[active_] + "/webhdfs/v1" + encoded + "?op=" + operation + more + (user.empty() ? "" : "&user.name=" + user);
  }

  // Tries the name node that answered last, then each of the others once.
  std::string ask(const std::string &path, const char *operation, const std::string &more, size_t limit) {
    for (size_t tried = 1;; ++tried) {
      try {
        return request_active(path, operation, more, limit);
      } catch (const NotActive &) {
        if (tried == webs_.size()) throw;
        active_ = (active_ + 1) % webs_.size();
      }
    }
  }
  // The name node redirects reads to a data node.
  std::string request_active(const std::string &path, const char *operation, const std::string &more, size_t limit) {
    std::string url = url_of(path, operation, more), body;
    for (int hop = 0; hop <= kMaxRedirects; ++hop) {
      const Answer answer = exchange(url, path, limit, body, hop == 0);
      if (answer.status >= 200 && answer.status < 300) return body;
      if (answer.status < 300 || answer.status >= 400 || answer.location.empty()) refuse(path, answer);
      url = answer.location;
    }
    throw Unreadable(path + ": too many redirects");
  }
  Answer exchange(const std::string &url, const std::string &path, size_t limit, std::string &body, bool name_node) {
    body.clear();
    bool too_long = false;
    try {
      const http_client::Url target = http_client::parse_url(url, "/");
      // Never follows a redirect from TLS to plain text.
      if (target.tls != (options_.tls != nullptr))
        throw Unreadable(path + ": the server redirects to " + target.host + " with another protocol");
      Answer answer = connection_.exchange(target, {.method = "GET", .target = target.target}, [&](std::string_view piece) {
        too_long = too_long || body.size() + piece.size() > limit;
        if (!too_long) body += piece;
        return !too_long;
      });
      if (too_long) throw Unreadable(path + ": the answer is larger than requested");
      return answer;
    } catch (const Unreadable &) {
      throw;
    } catch (const std::exception &failure) {
      connection_.close();
      if (name_node) throw NotActive(path + ": " + failure.what());
      throw Unreadable(path + ": " + failure.what());
    }
  }
  // Returns the error message of a response: {"RemoteException": {"message": "..."}}, or the text of a proxy.
  static std::string words_of(const std::string &body) {
    simdjson::dom::parser parser;
    io::JsonObject whole;
    if (parser.parse(body).get(whole) == SUCCESS)
      if (const auto exception = io::object_of(whole, "RemoteException"); exception && !io::text_of(*exception, "message").empty())
        return http_client::error_message(io::text_of(*exception, "message"));
    return http_client::error_message(body);
  }
  [[noreturn]] static void refuse(const std::string &path, const Answer &answer) {
    const std::string text = path + ": the server returned status " + std::to_string(answer.status) + ": " + words_of(answer.body);
    if (answer.status == 404) throw Missing(text);
    for (const char *exception : {"StandbyException", "RetriableException"})
      if (answer.body.find(exception) != std::string::npos) throw NotActive(text);
    throw Unreadable(text +
                     (answer.status == 401 || answer.status == 403 ? "; set the parameter \"user\" to a permitted user" : ""));
  }

  const std::string user_;
  std::string server_;             // "webhdfs://host:port"
  std::vector<std::string> webs_;  // "http://host:port" of each name node
  size_t active_ = 0;
  http_client::ConnectionOptions options_;
  http_client::Deadlines deadlines_;
  http_client::Connection connection_;
};

}  // namespace

bool is_webhdfs(std::string_view path) {
  return path.starts_with(kPlainScheme) || path.starts_with(kTlsScheme);
}

std::unique_ptr<Storage> make_webhdfs(const std::string &base, const WebHdfsOptions &options) {
  return std::make_unique<WebHdfs>(base, options);
}

Entry read_file_status(std::string_view json, const std::string &url) {
  simdjson::dom::parser parser;
  io::JsonObject whole;
  Entry entry;
  if (parser.parse(json.data(), json.size()).get(whole) == SUCCESS)
    if (const auto status = io::object_of(whole, "FileStatus"); status && read_status(*status, url, entry)) return entry;
  throw Unreadable(url + ": invalid answer from WebHDFS");
}

std::vector<Entry> read_file_list(std::string_view json, const std::string &url) {
  simdjson::dom::parser parser;
  io::JsonObject whole;
  simdjson::dom::array list;
  std::vector<Entry> out;
  if (parser.parse(json.data(), json.size()).get(whole) != SUCCESS || whole["FileStatuses"]["FileStatus"].get(list) != SUCCESS)
    throw Unreadable(url + ": invalid answer from WebHDFS");
  for (const io::JsonElement element : list) {
    io::JsonObject one;
    Entry entry;
    if (element.get(one) != SUCCESS) continue;
    const std::string_view name = io::text_of(one, "pathSuffix");
    const std::string path = url + (url.ends_with('/') ? "" : "/") + std::string(name);
    if (is_name(name) && read_status(one, path, entry)) out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace atalaya::hadoop
