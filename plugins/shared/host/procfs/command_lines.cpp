// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/procfs/command_lines.h"
#include "core/base/text/text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

namespace atalaya::procfs {
namespace {

constexpr size_t kMaxCommand = 1024;
constexpr size_t kMaxArgumentLength = 4096;  // a longer argument is hidden: it is a class path, or code
constexpr std::string_view kHidden = "***";

// The value of a name that contains one of these words is a secret, unless it refers to a file or another place.
constexpr std::array<std::string_view, 13> kSecretWords = {"pass",   "pwd",     "secret",    "token",   "key",     "cred", "auth",
                                                           "cookie", "session", "signature", "private", "literal", "dsn"};
constexpr std::array<std::string_view, 6> kElsewhere = {"file", "path", "dir", "stdin", "prompt", "fd"};

// Prefixes of the tokens of well-known services.
constexpr std::array<std::string_view, 19> kTokenBeginnings = {
    "AKIA",  "ASIA",  "AIza",  "ghp_",  "gho_",     "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-",
    "xoxb-", "xoxp-", "xoxa-", "xoxs-", "sk_live_", "sk-",  "hvs.", "npm_", "eyJ"};
constexpr size_t kMinToken = 16, kMinKey = 32, kAwsSecret = 40;

// Programs that take a secret after an option of one letter.
struct Client {
  std::string_view program;     // prefix of the program's name
  std::string_view letters;     // options whose value is a secret, in the same argument or the next
  bool attached_only = false;   // the value is only in the same argument; without it the program prompts
  std::string_view after = {};  // the options are valid only after this argument
  bool joins = false;           // the letter may be combined with others, as in "-su"
};
constexpr std::array kClients = {
    Client{"ssh-keygen", "NP"},
    Client{"mysql", "p", true},
    Client{"mariadb", "p", true},
    Client{"mytop", "p"},
    Client{"xtrabackup", "p", true},
    Client{"innobackupex", "p"},
    Client{"curl", "uUbE", false, {}, true},
    Client{"sshpass", "p"},
    Client{"redis-cli", "a"},
    Client{"valkey-cli", "a"},
    Client{"mongo", "p"},
    Client{"ldap", "w"},
    Client{"smbclient", "U"},
    Client{"rpcclient", "U"},
    Client{"net", "U"},
    Client{"openssl", "kK"},
    Client{"mosquitto_", "P"},
    Client{"sqlcmd", "P"},
    Client{"bcp", "P"},
    Client{"ipmitool", "P"},
    Client{"lftp", "u"},
    Client{"snmp", "cAX"},
    Client{"7z", "p", true},
    Client{"unrar", "p", true},
    Client{"rar", "p", true},
    Client{"zip", "P"},
    Client{"unzip", "P"},
    Client{"beeline", "p"},
    Client{"cqlsh", "p"},
    Client{"rdesktop", "p"},
    Client{"docker", "p", false, "login"},
    Client{"podman", "p", false, "login"},
    Client{"helm", "p", false, "login"},
    Client{"oc", "p", false, "login"},
    Client{"az", "p", false, "login"},
};
// Programs whose arguments are secrets.
constexpr std::array<std::string_view, 8> kSecretArguments = {"htpasswd", "sqlplus", "sqlldr",   "expdp",
                                                              "impdp",    "rman",    "chpasswd", "vault"};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
bool is_letter(char c) {
  return lower(c) >= 'a' && lower(c) <= 'z';
}
bool is_name(char c) {
  return is_letter(c) || core::is_digit(c) || c == '_' || c == '-' || c == '.';
}
bool is_blank_or_control(char c) {
  return static_cast<unsigned char>(c) <= ' ';
}
bool is_quote(char c) {
  return c == '"' || c == '\'' || c == '\\';
}

bool holds(std::string_view name, std::string_view word) {
  const auto same = [](char a, char b) { return lower(a) == b; };
  return std::search(name.begin(), name.end(), word.begin(), word.end(), same) != name.end();
}

bool ends_with(std::string_view name, std::string_view word) {
  return name.size() >= word.size() && holds(name.substr(name.size() - word.size()), word);
}

bool names_secret(std::string_view name) {
  const auto elsewhere = [&](std::string_view word) { return ends_with(name, word); };
  const auto held = [&](std::string_view word) { return holds(name, word); };
  return std::any_of(kSecretWords.begin(), kSecretWords.end(), held) &&
         std::none_of(kElsewhere.begin(), kElsewhere.end(), elsewhere);
}

size_t end_of_name(std::string_view text, size_t at) {
  while (at < text.size() && is_name(text[at])) ++at;
  return at;
}

// The start of the value of a name that ends at `at`: after "=" or ":", or for an option after a blank. The name may be in quotes.
std::optional<size_t> value_behind(std::string_view text, size_t at, bool option) {
  const size_t name_end = at;
  while (at < text.size() && is_quote(text[at])) ++at;
  while (at < text.size() && is_blank_or_control(text[at])) ++at;
  if (at < text.size() && (text[at] == '=' || text[at] == ':')) return at + 1;
  return option && at > name_end && at < text.size() ? std::optional(at) : std::nullopt;
}

// The option of many clients that takes user:password.
bool names_user(std::string_view name) {
  return name.starts_with("--") && ends_with(name, "user");
}

void hide_behind_colon(std::string &word, size_t from) {
  const size_t colon = word.find(':', from);
  if (colon != std::string::npos) word.replace(colon + 1, std::string::npos, kHidden);
}

// Hides the text after the first name of a secret with a value: NAME=VALUE, --name=VALUE, "name": "VALUE", Header: VALUE.
void hide_named(std::string &word) {
  for (size_t at = 0; at < word.size();) {
    if (!is_name(word[at])) {
      ++at;
      continue;
    }
    const size_t end = end_of_name(word, at);
    const std::string_view name = std::string_view(word).substr(at, end - at);
    if (names_user(name)) hide_behind_colon(word, end);
    if (names_secret(name)) {
      if (auto value = value_behind(word, end, word[at] == '-')) {
        while (*value < word.size() && is_blank_or_control(word[*value])) ++*value;
        if (*value < word.size()) word.replace(*value, std::string::npos, kHidden);
        return;
      }
    }
    at = end;
  }
}

size_t end_of_part(std::string_view text, size_t at) {
  while (at < text.size() && !is_blank_or_control(text[at])) ++at;
  return at;
}

// Replaces each word of the text by the result of `edit`.
template <class Edit>
void edit_parts(std::string &word, Edit edit) {
  std::string edited;
  for (size_t at = 0; at < word.size();) {
    const size_t end = end_of_part(word, at);
    edited += edit(std::string_view(word).substr(at, end - at));
    at = end;
    while (at < word.size() && is_blank_or_control(word[at])) edited += word[at++];
  }
  word = std::move(edited);
}

// Hides the password in scheme://user:password@host anywhere in the text; a password may contain "/", "?" and "#".
std::string without_url_users(std::string_view part) {
  std::string shown;
  while (part.find('@') != std::string_view::npos) {
    const size_t scheme = part.find("://");
    if (scheme == std::string_view::npos) break;
    shown += part.substr(0, scheme + 3);
    part.remove_prefix(scheme + 3);
    const std::string_view authority = part.substr(0, part.find_first_of("/?#"));
    const size_t colon = authority.find(':');
    const bool password = colon != std::string_view::npos && !core::is_digits(authority.substr(colon + 1));
    size_t user_end = authority.rfind('@');
    if (user_end == std::string_view::npos && password) user_end = part.rfind('@');
    if (user_end == std::string_view::npos) continue;
    shown += kHidden;
    part.remove_prefix(user_end);
  }
  return shown.append(part);
}

// Hides the password in user:password@host without a scheme.
std::string without_password(std::string_view part) {
  const size_t colon = part.find(':'), at = part.rfind('@');
  if (at == std::string_view::npos || colon > at || part.find("://") != std::string_view::npos) return std::string(part);
  return std::string(part.substr(0, colon + 1)).append(kHidden).append(part.substr(at));
}

bool has_token_beginning(std::string_view run) {
  const auto begins = [&](std::string_view token) { return run.starts_with(token); };
  return run.size() >= kMinToken && std::any_of(kTokenBeginnings.begin(), kTokenBeginnings.end(), begins);
}

// Whether the text looks like a generated token: long, with digits and upper and lower case.
bool looks_made(std::string_view run) {
  if (run.size() < kMinKey) return false;
  const bool digit = std::any_of(run.begin(), run.end(), core::is_digit);
  const bool large = std::any_of(run.begin(), run.end(), [](char c) { return is_letter(c) && c != lower(c); });
  const bool small = std::any_of(run.begin(), run.end(), [](char c) { return is_letter(c) && c == lower(c); });
  return digit && large && small;
}

// Hides each run of characters accepted by `member` that `secret` accepts.
template <class Member, class Secret>
void hide_runs(std::string &word, Member member, Secret secret) {
  for (size_t at = 0; at < word.size(); ++at) {
    size_t end = at;
    while (end < word.size() && member(word[end])) ++end;
    if (end == at) continue;
    if (secret(std::string_view(word).substr(at, end - at))) {
      word.replace(at, end - at, kHidden);
      end = at + kHidden.size();
    }
    at = end;
  }
}

void hide_keys(std::string &word) {
  hide_runs(word, is_name, has_token_beginning);
  hide_runs(
      word, [](char c) { return is_letter(c) || core::is_digit(c) || c == '/' || c == '+'; },
      [](std::string_view run) { return run.size() >= kAwsSecret && run.front() != '/' && looks_made(run); });
  hide_runs(
      word, [](char c) { return (is_name(c) && c != '.') || c == '+'; }, looks_made);
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// Hides secrets by their position; it processes the arguments in order.
class Redactor {
 public:
  explicit Redactor(const io::MatcherList &redact) : redact_(redact) {}

  std::string take(std::string_view argument) {
    const Next expected = std::exchange(next_, Next::shown);
    const bool is_option = argument.starts_with('-');
    if (expected == Next::hidden || (expected == Next::hidden_value && !is_option) || argument.size() > kMaxArgumentLength) {
      if (is_option) next_ = after_name(argument);  // the argument was an option itself, not the value
      return std::string(kHidden);
    }
    const bool alone = is_option && argument.find_first_of("= ") == std::string_view::npos;
    if (!redact_.empty() && redact_.matches(argument)) {
      if (alone) next_ = Next::hidden;
      return std::string(alone ? argument : kHidden);
    }
    std::string word(argument);
    if (expected == Next::user) hide_behind_colon(word, 0);
    hide_for_client(word);
    if (next_ == Next::shown && !first_) next_ = after_name(argument);
    first_ = false;
    hide_named(word);
    edit_parts(word, without_url_users);
    edit_parts(word, without_password);
    hide_keys(word);
    return word;
  }

 private:
  enum class Next : uint8_t { shown, hidden, hidden_value, user };  // hidden_value: hidden unless it is an option

  // Secrets in the next argument: "--password secret", "--user name:secret", "set requirepass secret".
  static Next after_name(std::string_view argument) {
    if (end_of_name(argument, 0) != argument.size()) return Next::shown;
    if (names_user(argument)) return Next::user;
    if (!names_secret(argument)) return Next::shown;
    return argument.starts_with('-') ? Next::hidden : Next::hidden_value;
  }

  // The argument of a shell is a command line whose words are arguments too. All of a word after the start of a secret is hidden.
  void hide_for_client(std::string &word) {
    for (size_t at = 0; at < word.size(); ++at) {
      if (is_blank_or_control(word[at])) continue;
      const size_t end = end_of_part(word, at);
      const std::string_view part(&word[at], end - at);
      size_t secret = secret_in(part);
      if (secret < part.size() || (next_ == Next::hidden && end < word.size())) {
        secret = secret < part.size() ? at + secret : end + 1;
        next_ = Next::shown;
        word.replace(secret, std::string::npos, kHidden);
        return;
      }
      at = end;
    }
  }

  // The position of a secret in the part, or its size if there is none; may mark the next part as a secret.
  size_t secret_in(std::string_view part) {
    if (only_secrets_) return 0;
    if (part.size() < 2 || part[0] != '-') {
      know(base_name(part));
    } else if (part[1] != '-') {
      for (size_t i = 0; i < kClients.size(); ++i) {
        if (state_[i] != State::active) continue;
        const size_t value = value_of_letter(kClients[i], part);
        if (value < part.size()) return value;
        if (value == part.size()) next_ = Next::hidden;
      }
    }
    return part.size();
  }

  // The position of the value of one of the program's letters; the size of the part if the value is the next part; npos if there is
  // none.
  static size_t value_of_letter(const Client &client, std::string_view part) {
    const size_t letter = client.joins ? part.find_first_of(client.letters, 1) : 1;
    if (letter == std::string_view::npos || client.letters.find(part[letter]) == std::string_view::npos)
      return std::string_view::npos;
    return letter + 1 == part.size() && client.attached_only ? std::string_view::npos : letter + 1;
  }

  // Any word may be the program, because sudo, timeout, env and shells start others.
  void know(std::string_view word) {
    while (!word.empty() && (is_quote(word.front()) || word.front() == '(')) word.remove_prefix(1);
    only_secrets_ = std::find(kSecretArguments.begin(), kSecretArguments.end(), word) != kSecretArguments.end();
    for (size_t i = 0; i < kClients.size(); ++i) {
      const Client &client = kClients[i];
      if (word.starts_with(client.program)) state_[i] = client.after.empty() ? State::active : State::met;
      if (state_[i] == State::met && word == client.after) state_[i] = State::active;
    }
  }

  enum class State : uint8_t { unknown, met, active };

  const io::MatcherList &redact_;
  std::array<State, kClients.size()> state_{};
  Next next_ = Next::shown;
  bool first_ = true, only_secrets_ = false;
};

// Appends the argument to the line.
void append(std::string &line, std::string_view argument, bool first) {
  if (!first) line += ' ';
  for (const char c : argument.substr(0, kMaxCommand)) line += is_blank_or_control(c) || c == 0x7f ? ' ' : c;
}

}  // namespace

std::string redacted_command(std::string_view text, bool cut, const io::MatcherList &redact) {
  std::string line;
  Redactor redactor(redact);
  for (bool first = true; !text.empty() && line.size() < kMaxCommand; first = false) {
    const size_t end = text.find('\0');
    if (end == std::string_view::npos && cut) break;
    append(line, redactor.take(text.substr(0, end)), first);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  line.resize(std::min(line.size(), kMaxCommand));
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace atalaya::procfs
