// SPDX-License-Identifier: GPL-2.0-or-later
// For what few of many objects have: it is on the heap, and takes one pointer in those that do not have it.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace market {

/// As std::optional, in the size of a pointer. A copy has a value of its own.
template <class T>
class Rare {
 public:
  Rare() = default;
  Rare(std::nullopt_t) {}
  Rare(T value) : held_(std::make_unique<T>(std::move(value))) {}
  Rare(std::optional<T> value) {
    if (value) emplace(std::move(*value));
  }
  Rare(const Rare& other) : held_(other ? std::make_unique<T>(*other) : nullptr) {}
  Rare(Rare&&) noexcept = default;
  Rare& operator=(Rare other) noexcept {
    held_ = std::move(other.held_);
    return *this;
  }
  ~Rare() = default;

  explicit operator bool() const { return held_ != nullptr; }
  bool has_value() const { return held_ != nullptr; }
  T& operator*() { return *held_; }
  const T& operator*() const { return *held_; }
  T* operator->() { return held_.get(); }
  const T* operator->() const { return held_.get(); }
  operator std::optional<T>() const { return held_ ? std::optional<T>(*held_) : std::nullopt; }

  template <class... From>
  T& emplace(From&&... from) {
    return *(held_ = std::make_unique<T>(std::forward<From>(from)...));
  }
  void reset() { held_.reset(); }

  friend bool operator==(const Rare& a, const Rare& b) {
    return a.held_ && b.held_ ? *a == *b : a.held_ == b.held_;
  }

 private:
  std::unique_ptr<T> held_;
};

/// A group of fields that stays as T{} is in most objects; the first change makes it.
template <class T>
class Late {
 public:
  const T& operator*() const { return made_ ? *made_ : unchanged(); }
  const T* operator->() const { return &**this; }
  /// For a change. What `*` and `->` gave before the first one does not see it.
  T& edit() { return made_ ? *made_ : made_.emplace(); }
  /// Null where nothing was changed so far.
  T* made() { return made_ ? &*made_ : nullptr; }
  bool is_made() const { return made_.has_value(); }

  /// Changes a field, which makes nothing where it has that value.
  template <class Field>
  void set(Field T::*field, std::type_identity_t<Field> value) {
    if ((**this).*field != value) edit().*field = std::move(value);
  }
  /// As set(); what the field was before.
  template <class Field>
  Field exchange(Field T::*field, std::type_identity_t<Field> value) {
    Field before = (**this).*field;
    set(field, std::move(value));
    return before;
  }
  /// All fields are as in T{}.
  void reset() { made_.reset(); }

 private:
  static const T& unchanged() {
    static const T value{};
    return value;
  }

  Rare<T> made_;
};

/// A text that is empty in most objects.
class RareText {
 public:
  RareText() = default;
  RareText(std::string text) {
    if (!text.empty()) text_.emplace(std::move(text));
  }
  RareText(std::string_view text) : RareText(std::string(text)) {}
  RareText(const char* text) : RareText(std::string(text)) {}

  const std::string& str() const {
    static const std::string nothing;
    return text_ ? *text_ : nothing;
  }
  operator const std::string&() const { return str(); }
  operator std::string_view() const { return str(); }
  bool empty() const { return !text_; }
  void clear() { text_.reset(); }

  friend bool operator==(const RareText& a, const RareText& b) { return a.text_ == b.text_; }
  template <std::convertible_to<std::string_view> Text>
  friend bool operator==(const RareText& a, const Text& b) {
    return a.str() == std::string_view(b);
  }

 private:
  Rare<std::string> text_;
};

}  // namespace market
