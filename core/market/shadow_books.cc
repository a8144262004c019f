// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/shadow_books.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace market {
namespace {

bool sets_aside(const ledger::Operation& operation) {
  return std::holds_alternative<ledger::PlaceLien>(operation) ||
         std::holds_alternative<ledger::ChangeLien>(operation) ||
         std::holds_alternative<ledger::VoidLien>(operation) ||
         std::holds_alternative<ledger::OfferRest>(operation) ||
         std::holds_alternative<ledger::CountSale>(operation);
}

}  // namespace

std::vector<Queued> ShadowBooks::take(std::vector<Queued> entries) {
  std::vector<Queued> to_write;
  for (Queued& entry : entries) {
    for (const auto& [account, delta] : entry.deltas) liens_[account] += delta.liens;
    (sets_aside(entry.operation) ? kept_ : to_write).push_back(std::move(entry));
  }
  return to_write;
}

BooksReport ShadowBooks::split(BooksReport& news) {
  BooksReport told;
  told.config = news.config;
  told.seeded = news.seeded;
  told.ledger_error = news.ledger_error;
  told.now = news.now;
  told.learned_until = news.learned_until;
  told.past_bids = news.past_bids;
  told.past_bids_since = news.past_bids_since;
  told.asks = news.asks;
  if (news.past_bids)
    std::erase_if(*news.past_bids, [](const PastBid& bid) { return bid.observed; });
  if (news.accounts && !std::exchange(liens_told_, true)) told.open_liens.emplace();
  std::vector<Queued> others;
  std::vector<ledger::Outcome> outcomes;
  for (std::size_t i = 0; i < news.done.size(); ++i) {
    const bool is_its = news.done[i].observed;
    (is_its ? told.done : others).push_back(std::move(news.done[i]));
    (is_its ? told.outcomes : outcomes).push_back(news.outcomes[i]);
  }
  news.done = std::move(others);
  news.outcomes = std::move(outcomes);
  add_accounts(news, told);
  return told;
}

// Entries are done for good when the balances have them: so both are told together.
void ShadowBooks::add_accounts(const BooksReport& news, BooksReport& told) {
  if (news.accounts) {
    real_ = news.accounts;
    charged_ = news.observed_sums;
  }
  if (!news.accounts && (kept_.empty() || !told.done.empty() || !real_)) return;
  told.accounts = real_;
  for (AccountView& account : *told.accounts) {
    if (const auto charged = charged_.find(account.name); charged != charged_.end())
      account.posted = account.posted - charged->second;
    if (const auto liens = liens_.find(account.name); liens != liens_.end())
      account.liens += liens->second;
  }
  told.outcomes.resize(told.done.size() + kept_.size(), ledger::Outcome::kDone);
  std::move(kept_.begin(), kept_.end(), std::back_inserter(told.done));
  kept_.clear();
}

}  // namespace market
