// SPDX-License-Identifier: GPL-2.0-or-later
// Typed reading of a libconfig file: every value is checked where it is read, the first fault is
// kept with its line, and keys that nobody asked for are faults too.
#pragma once

#include <libconfig.h>

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/util/result.h"
#include "core/words/bid.h"

namespace market::config {

/// The parsed file and the first fault found in it.
class Document {
 public:
  explicit Document(std::string file) : file_(std::move(file)) { config_init(&config_); }
  ~Document() { config_destroy(&config_); }
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  /// Reads the file whole and parses it. Fails on what is not a readable regular file, on wrong
  /// syntax, on @include, and on integers that libconfig would wrap silently.
  Result<void> parse();

  config_setting_t* root() const { return config_root_setting(&config_); }
  const std::string& file() const { return file_; }

  /// Notes "FILE:LINE: KEY: VALUE: allowed", unless a fault is noted already.
  void fault(unsigned line, std::string_view key, std::string_view value, std::string_view allowed);
  const std::optional<Error>& first_fault() const { return fault_; }

 private:
  Result<std::string> read_text() const;
  Result<void> refuse_wrapped_integers(std::string_view text) const;

  std::string file_;
  config_t config_;
  std::optional<Error> fault_;
};

/// One group of settings. Absent keys leave the value as it is.
class Section {
 public:
  Section(Document& document, config_setting_t* setting, std::string path)
      : document_(&document), setting_(setting), path_(std::move(path)) {}

  void text(const char* key, std::string& value);
  /// A text that is never said; nothing when the key is absent or another kind of value.
  std::optional<std::string> secret(const char* key);
  void texts(const char* key, std::vector<std::string>& values);
  /// A Slurm duration in [least, most].
  void duration(const char* key, Time least, Time most, Time& value);
  /// A quoted decimal in [0, most].
  void decimal(const char* key, double most, double& value);
  /// A plain integer in [least, most].
  void integer(const char* key, std::uint32_t least, std::uint32_t most, std::uint32_t& value);

  template <class Enum>
  void choice(const char* key, std::span<const std::pair<const char*, Enum>> names, Enum& value) {
    std::string chosen, allowed;
    if (!take(key)) return;
    text(key, chosen);
    for (const auto& [name, meaning] : names) {
      if (chosen == name) {
        value = meaning;
        return;
      }
      allowed += (allowed.empty() ? "" : ", ") + std::string(name);
    }
    fault(key, "one of " + allowed);
  }

  /// The group or list `key`, nothing when it is absent or of another kind (which is a fault).
  std::optional<Section> group(const char* key);
  std::vector<Section> groups(const char* key);

  bool has(const char* key) const { return member(key) != nullptr; }
  /// Notes that the value of `key` is wrong.
  void fault(const char* key, std::string_view allowed);
  /// The same without the value.
  void fault_unsaid(const char* key, std::string_view allowed);
  /// To be called when all known keys were read: what is left is unknown.
  void refuse_unknown_keys();

 private:
  config_setting_t* member(const char* key) const;
  config_setting_t* take(const char* key);
  std::string path_of(const char* key) const;

  Document* document_;
  config_setting_t* setting_;
  std::string path_;
  std::set<std::string, std::less<>> known_;
};

/// Whether `text` may name a market or a class: 1 to 32 of a-z, 0-9, _ and -.
bool is_word(std::string_view text);

}  // namespace market::config
