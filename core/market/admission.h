// SPDX-License-Identifier: GPL-2.0-or-later
// Who asks for what, when, paid by whom; then accept at a price, or refuse with what would do.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/market/answer.h"
#include "core/market/site.h"

namespace market {

class Admission {
 public:
  explicit Admission(Site& site) : site_(site) {}

  Answer submit(const market_submission_t& submission, Time now);
  /// Of a market that observes: what submit() would have answered, for one line and a note.
  Answer observe(const market_submission_t& submission, Time now);
  Result<const Partition*> check_partition(std::string_view names) const;
  Result<Time> check_time_limit(std::uint32_t minutes, const Partition& partition) const;
  Result<void> check_window(Request& request, Time begin, Time deadline, Time now) const;
  Result<std::string> check_account(std::string_view named, const market_submission_t& asker,
                                    bool& chosen) const;
  /// Whether the asker speaks for an account that owns nodes: an operator, a coordinator, or where
  /// Slurm keeps no associations, and so no coordinators, a member.
  bool may_manage(std::string_view account, const market_submission_t& asker) const;
  /// Whether the asker is an operator or a coordinator of the account.
  bool coordinates(std::string_view account, const market_submission_t& asker) const;
  bool may_see(std::string_view account, const market_submission_t& asker) const;
  std::vector<std::string> accounts_to_see(const market_submission_t& asker) const;
  std::optional<std::string> check_unbid_change(const market_change_t& change) const;
  /// Of a task that Slurm has just taken out of an array sold as one.
  static std::optional<std::string> refusal_for_task(const market_change_t& change);
  std::optional<std::string> try_change(Job& job, const market_change_t& change, Time now);
  Result<Bid> bid_after(const Job& job, const market_change_t& change, Time now) const;
  std::optional<std::string> rebid(Job& job, const Worth& worth, const BidTexts& texts, Time now);

 private:
  std::string refused_note(const market_submission_t& submission, Time now);
  Answer unavailable() const;
  Answer unavailable(const char* what) const;
  Answer no_room() const;
  Answer without_bid(const market_submission_t& submission) const;
  bool opts_out(const market_submission_t& submission) const;
  std::optional<Answer> by_pot(const market_submission_t& submission, Time now);
  Result<Draft> check(const market_submission_t& submission, Time now) const;
  Result<Draft> check_several(const market_submission_t& submission, Time now) const;
  Result<void> check_mix(const std::vector<std::string>& names) const;
  Draft cheapest(std::vector<Draft> drafts, Time now) const;
  Result<void> take_row(Draft& draft, const market_submission_t& submission, Time now) const;
  Result<void> settle_class(Draft& draft, const market_submission_t& submission, Time now) const;
  void take(Draft& draft, TakenRow row) const;
  Group place_later(Draft& draft, const std::string& token, Group none, Time now);
  std::string row_is_gone(const Draft& draft, Time now) const;
  Answer decide(Draft draft, Time now);
  Answer submit_component(const market_submission_t& submission, Time now);
  std::optional<std::string> fault_of_component(const market_submission_t& submission,
                                                const std::vector<Provisional*>& before) const;
  std::optional<std::string> place_components(const std::vector<Provisional*>& components,
                                              Money budget, Time now);
  Answer accept_component(const Draft& draft, Provisional provisional,
                          std::vector<Provisional*> before, Time now);
  static Note note_of_acceptance(const Draft& draft, const Provisional& provisional, Time now);
  std::string refusal_of(const Draft& draft, const Group& group, Time now);
  Answer accept(const Draft& draft, Provisional provisional, Time now);
  std::string why_late(const Draft& draft, Time starts, Time now) const;
  bool may_spend(std::string_view account, const market_submission_t& asker) const;
  std::vector<std::string> accounts_to_spend_from(const market_submission_t& asker) const;
  std::string none_before(const Draft& draft, Time now) const;
  std::string alternatives(const Draft& draft, bool may_be_dear, Time now);
  std::optional<std::string> larger_budget(const Draft& draft, Time now);
  std::optional<std::string> later_deadline(const Draft& draft, Time now);
  std::optional<std::string> shorter_limit(const Draft& draft, Time now);

  Site& site_;
};

}  // namespace market
