// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/config/reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "core/util/slurm_time.h"
#include "core/words/money.h"

namespace market::config {
namespace {

constexpr std::size_t kLargestFile = 1 << 20;
constexpr const char* kUnsaid = "(not shown)";

/// Text for an error line: printable, and not endless.
std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::string out;
  for (const char c : text.substr(0, kLongest)) out += c >= ' ' && c <= '~' ? c : '?';
  if (text.size() > kLongest) out += "…";
  return out;
}

std::string value_text(const config_setting_t* setting) {
  switch (config_setting_type(setting)) {
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
      return fmt::format("{}", config_setting_get_int64(setting));
    case CONFIG_TYPE_FLOAT:
      return fmt::format("{}", config_setting_get_float(setting));
    case CONFIG_TYPE_BOOL:
      return config_setting_get_bool(setting) ? "true" : "false";
    case CONFIG_TYPE_STRING:
      return shown(config_setting_get_string(setting));
    case CONFIG_TYPE_GROUP:
      return "{…}";
    default:
      return "(…)";
  }
}

/// Closes a file descriptor at the end of its scope.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '*';
}
/// A value that may be meant as the seed is not said, not even under a mistyped key.
std::string said(std::string_view key, std::string value) {
  return key.starts_with('s') || key.starts_with('S') ? kUnsaid : std::move(value);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Walks over libconfig text, token by token, as far as finding integers needs it.
class IntegerScan {
 public:
  explicit IntegerScan(std::string_view text) : text_(text) {}

  unsigned line = 1;
  std::string_view key;      ///< the latest name
  std::string_view integer;  ///< the integer found

  /// Moves to the next integer that does not fit 32 bits and has no L; false at the end.
  bool next_wrapped() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        skip_string();
      } else if (c == '#' || starts("//")) {
        skip_to("\n", 0);
      } else if (starts("/*")) {
        skip_to("*/", 2);
      } else if (is_name_start(c)) {
        key = take_word();
      } else if (is_digit(c)) {
        integer = take_word();
        if (wraps(integer)) return true;
      } else {
        step();
      }
    }
    return false;
  }

 private:
  bool starts(std::string_view token) const { return text_.substr(at_, token.size()) == token; }
  void step() {
    if (text_[at_] == '\n') ++line;
    ++at_;
  }
  void skip_to(std::string_view token, std::size_t beyond) {
    while (at_ < text_.size() && !starts(token)) step();
    at_ = std::min(at_ + beyond, text_.size());
  }
  void skip_string() {
    step();
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) step();
      step();
    }
    if (at_ < text_.size()) step();
  }
  std::string_view take_word() {
    const std::size_t from = at_;
    while (at_ < text_.size() && (is_name_start(text_[at_]) || is_digit(text_[at_]) ||
                                  text_[at_] == '-' || text_[at_] == '.')) {
      ++at_;
    }
    return text_.substr(from, at_ - from);
  }
  static bool wraps(std::string_view word) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    const bool hex = word.size() > 2 && (word[1] == 'x' || word[1] == 'X');
    std::int64_t value = 0;
    for (const char c : word.substr(hex ? 2 : 0)) {
      const bool hex_letter = hex && std::strchr("abcdefABCDEF", c) != nullptr;
      if (!is_digit(c) && !hex_letter) return false;
      value = value * (hex ? 16 : 10) + (is_digit(c) ? c - '0' : 10);
      if (value > kMost) return word.back() != 'L';
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// libconfig's scanner ends the process when an included file cannot be read, so includes are
/// refused.
unsigned line_of_include(std::string_view text) {
  unsigned line = 1;
  for (std::size_t from = 0; from < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const std::size_t start = std::min(text.find_first_not_of(" \t", from), end);
    if (text.substr(start, end - start).substr(0, 8) == "@include") return line;
    from = end + 1;
  }
  return 0;
}

}  // namespace

Result<std::string> Document::read_text() const {
  const Descriptor file{open(file_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  const auto refuse = [this](const char* why) { return fail(fmt::format("{}: {}", file_, why)); };
  if (file.number < 0) return refuse(std::strerror(errno));
  struct stat status {};
  if (fstat(file.number, &status) != 0) return refuse(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return refuse("not a regular file");
  std::string text;
  char buffer[16384];
  for (;;) {
    const ssize_t count = read(file.number, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return refuse(std::strerror(errno));
    if (count == 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
    if (text.size() > kLargestFile) return refuse("larger than 1 MB");
  }
}

Result<void> Document::refuse_wrapped_integers(std::string_view text) const {
  IntegerScan scan(text);
  if (!scan.next_wrapped()) return {};
  return fail(fmt::format("{}:{}: {}: {}: integers go up to 2147483647", file_, scan.line,
                          shown(scan.key), said(scan.key, shown(scan.integer))));
}

Result<void> Document::parse() {
  const auto text = read_text();
  if (!text) return tl::make_unexpected(text.error());
  if (text->find('\0') != text->npos) return fail(fmt::format("{}: not a text file", file_));
  if (const unsigned line = line_of_include(*text); line > 0) {
    return fail(
        fmt::format("{}:{}: @include: not allowed, all settings are in one file", file_, line));
  }
  if (config_read_string(&config_, text->c_str()) != CONFIG_TRUE) {
    return fail(
        fmt::format("{}:{}: {}", file_, config_error_line(&config_), config_error_text(&config_)));
  }
  return refuse_wrapped_integers(*text);
}

void Document::fault(unsigned line, std::string_view key, std::string_view value,
                     std::string_view allowed) {
  if (fault_) return;
  const std::string place = line > 0 ? fmt::format("{}:{}", file_, line) : file_;
  fault_ = Error{fmt::format("{}: {}: {}: {}", place, key, value, allowed)};
}

config_setting_t* Section::member(const char* key) const {
  return config_setting_get_member(setting_, key);
}

config_setting_t* Section::take(const char* key) {
  known_.insert(key);
  return member(key);
}

std::string Section::path_of(const char* key) const {
  return path_.empty() ? key : fmt::format("{}.{}", path_, key);
}

void Section::fault(const char* key, std::string_view allowed) {
  const config_setting_t* setting = member(key);
  const config_setting_t* place = setting != nullptr ? setting : setting_;
  document_->fault(config_setting_source_line(place), path_of(key),
                   setting != nullptr ? value_text(setting) : "not given", allowed);
}

void Section::fault_unsaid(const char* key, std::string_view allowed) {
  document_->fault(config_setting_source_line(member(key)), path_of(key), kUnsaid, allowed);
}

std::optional<std::string> Section::secret(const char* key) {
  const config_setting_t* setting = take(key);
  if (setting == nullptr || config_setting_type(setting) != CONFIG_TYPE_STRING) return std::nullopt;
  return config_setting_get_string(setting);
}

void Section::text(const char* key, std::string& value) {
  const config_setting_t* setting = take(key);
  if (setting == nullptr) return;
  if (config_setting_type(setting) != CONFIG_TYPE_STRING) {
    fault(key, "text in double quotes");
    return;
  }
  value = config_setting_get_string(setting);
}

void Section::texts(const char* key, std::vector<std::string>& values) {
  config_setting_t* setting = take(key);
  if (setting == nullptr) return;
  values.clear();
  const bool several = config_setting_is_array(setting) || config_setting_is_list(setting);
  const int count = several ? config_setting_length(setting) : 0;
  for (int i = 0; i < count; ++i) {
    const char* element = config_setting_get_string_elem(setting, i);
    if (element != nullptr) values.emplace_back(element);
  }
  if (!several || values.size() != static_cast<std::size_t>(count)) {
    fault(key, "texts in square brackets, such as [\"main\", \"gpu\"]");
  }
}

void Section::duration(const char* key, Time least, Time most, Time& value) {
  std::string written;
  if (take(key) == nullptr) return;
  text(key, written);
  const auto seconds = parse_duration(written);
  if (!seconds) {
    fault(key, "a quoted Slurm duration: " + seconds.error().text);
  } else if (*seconds < least || *seconds > most) {
    fault(key, fmt::format("from {} to {}", format_duration(least), format_duration(most)));
  } else {
    value = *seconds;
  }
}

void Section::decimal(const char* key, double most, double& value) {
  std::string written;
  if (take(key) == nullptr) return;
  text(key, written);
  const auto number = Money::parse(written);
  if (!number || number->credits() > most) {
    fault(key, fmt::format("a quoted decimal number from 0 to {} with at most 6 decimals", most));
  } else {
    value = number->credits();
  }
}

void Section::integer(const char* key, std::uint32_t least, std::uint32_t most,
                      std::uint32_t& value) {
  const config_setting_t* setting = take(key);
  if (setting == nullptr) return;
  const int type = config_setting_type(setting);
  const long long number = config_setting_get_int64(setting);
  if ((type != CONFIG_TYPE_INT && type != CONFIG_TYPE_INT64) || number < least || number > most) {
    fault(key, fmt::format("an integer from {} to {}", least, most));
  } else {
    value = static_cast<std::uint32_t>(number);
  }
}

std::optional<Section> Section::group(const char* key) {
  config_setting_t* setting = take(key);
  if (setting == nullptr) return std::nullopt;
  if (!config_setting_is_group(setting)) {
    fault(key, "settings in braces, such as { … }");
    return std::nullopt;
  }
  return Section(*document_, setting, path_of(key));
}

std::vector<Section> Section::groups(const char* key) {
  std::vector<Section> sections;
  config_setting_t* setting = take(key);
  if (setting == nullptr) return sections;
  const int count = config_setting_is_list(setting) ? config_setting_length(setting) : 0;
  for (int i = 0; i < count; ++i) {
    config_setting_t* element = config_setting_get_elem(setting, static_cast<unsigned>(i));
    if (!config_setting_is_group(element)) break;
    sections.emplace_back(*document_, element, fmt::format("{}[{}]", path_of(key), i));
  }
  if (count == 0 || sections.size() != static_cast<std::size_t>(count)) {
    fault(key, "a list of settings in braces, such as ( { … }, { … } )");
  }
  return sections;
}

void Section::refuse_unknown_keys() {
  for (int i = 0; i < config_setting_length(setting_); ++i) {
    const config_setting_t* setting = config_setting_get_elem(setting_, static_cast<unsigned>(i));
    const char* name = config_setting_name(setting);
    if (name != nullptr && known_.count(name) == 0) {
      document_->fault(config_setting_source_line(setting), path_of(name),
                       said(name, value_text(setting)), "no such key");
    }
  }
}

bool is_word(std::string_view text) {
  constexpr std::size_t kLongest = 32;
  return !text.empty() && text.size() <= kLongest &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
         });
}

}  // namespace market::config
