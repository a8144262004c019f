// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/words/comment_bid.h"

#include <algorithm>
#include <cctype>

#include "core/util/clean_text.h"
#include "core/words/misspelt.h"

namespace market {
namespace {

using Kind = CommentBid::Kind;

constexpr std::string_view kMarket = "market", kBudget = "budget", kValue = "value";
constexpr std::string_view kRate = "-rate=";  // behind "budget"

bool is_white_space(char c) {
  return c == ' ' || c == '\t';
}
bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}
std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_white_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_white_space(text.back())) text.remove_suffix(1);
  return text;
}

/// The letters at the front of `text`, which is moved behind them.
std::string_view take_word(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_letter);
  const std::string_view word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(word.size());
  return word;
}

bool is_or_nearly(std::string_view word, std::string_view meant) {
  return word == meant || is_misspelt(word.data(), word.size(), meant.data(), meant.size());
}

/// "budget=40", "budget-rate=3", "value=…": sets the one that is given.
bool read_bid(std::string_view text, CommentBid& bid) {
  const std::string_view key = take_word(text);
  const bool is_rate = key == kBudget && text.starts_with(kRate);
  if (is_rate) text.remove_prefix(kRate.size() - 1);
  if ((key != kBudget && key != kValue) || text.size() < 2 || text.front() != '=') return false;
  text.remove_prefix(1);
  if (std::any_of(text.begin(), text.end(), is_white_space)) return false;
  (is_rate ? bid.rate : key == kBudget ? bid.budget : bid.value) = text;
  return true;
}

/// Whether an amount follows "budget" or nearly that anywhere; behind "market:" also "value", "bid".
bool names_bid(std::string_view text, bool colon) {
  while (!text.empty()) {
    const std::string_view word = take_word(text);
    std::string_view after = trimmed(text);
    if (after.starts_with("-rate")) after = trimmed(after.substr(kRate.size() - 1));
    const bool joined = !after.empty() && (after.front() == '=' || after.front() == ':');
    if (joined) after = trimmed(after.substr(1));
    const bool amount = !after.empty() && is_digit(after.front());
    const bool about_bids =
        is_or_nearly(word, kBudget) || (colon && (is_or_nearly(word, kValue) || word == "bid"));
    if (about_bids && (joined || amount)) return true;
    if (word.empty()) text.remove_prefix(1);
  }
  return false;
}

/// Whether a budget, or a value with its durations, stands anywhere, without "market" before it.
bool looks_like_bid(std::string_view text) {
  const auto is_shown = [text](std::string_view key, std::size_t colons) {
    const std::size_t at = text.find(key);
    if (at == std::string_view::npos || at + key.size() >= text.size()) return false;
    const std::string_view after = text.substr(at + key.size());
    const bool whole = at == 0 || !is_letter(text[at - 1]);
    return whole && is_digit(after.front()) &&
           static_cast<std::size_t>(std::count(after.begin(), after.end(), ':')) >= colons;
  };
  return is_shown("budget=", 0) || is_shown("budget-rate=", 0) || is_shown("value=", 2);
}

/// One part of a comment.
CommentBid read_part(std::string_view part) {
  CommentBid found;
  found.said = part;
  std::string_view rest = part;
  const std::string_view first = take_word(rest);
  const bool named = is_or_nearly(first, kMarket);
  const bool colon = !rest.empty() && rest.front() == ':';
  if (first == kMarket && colon && read_bid(trimmed(rest.substr(1)), found)) {
    found.kind = Kind::kBid;
  } else if (named && names_bid(rest, colon)) {
    found.kind = Kind::kSlip;
  } else if (looks_like_bid(part)) {
    found.kind = Kind::kLooksLike;
  }
  return found;
}

}  // namespace

CommentBid read_comment_bid(std::string_view comment) {
  CommentBid result;
  std::string rest;
  while (true) {
    const std::size_t end = comment.find(';');
    const std::string_view part = comment.substr(0, end);
    CommentBid found = read_part(trimmed(part));
    if (found.kind == Kind::kBid && result.kind == Kind::kBid) {
      found.kind = Kind::kSlip;
      found.said = result.said + "; " + found.said;
    }
    const bool is_bid = found.kind == Kind::kBid;
    const bool is_graver = found.kind == Kind::kSlip || is_bid || result.kind == Kind::kNone;
    if (is_graver && result.kind != Kind::kSlip) result = std::move(found);
    if (!is_bid) rest += (rest.empty() ? "" : ";") + std::string(part);
    if (end == std::string_view::npos) break;
    comment.remove_prefix(end + 1);
  }
  if (result.kind == Kind::kBid) result.rest = trimmed(rest);
  return result;
}

}  // namespace market
