// SPDX-License-Identifier: GPL-2.0-or-later
// Jobs without a bid take part where their user has a pot.
#include <algorithm>

#include "core/market/admission.h"
#include "core/market/pot_exchange.h"
#include "core/market/text.h"
#include "core/util/account_name.h"

namespace market {
namespace {

// The partition that the job goes to, if it is one alone.
const Partition* partition_of(const Site& site, const market_submission_t& submission) {
  return site.cluster.find_partition(or_empty(submission.partition));
}

bool has_pot(const Site& site, const std::string& partition, std::string_view user) {
  return std::any_of(site.pots.all().begin(), site.pots.all().end(), [&](const auto& entry) {
    return entry.second.host == lower_case(partition) && entry.second.user == lower_case(user) &&
           site.accounts.funds().posted(entry.first) > Money();
  });
}

bool names_no_bid(const market_submission_t& submission) {
  return !market_has_bid(&submission) && submission.workload == nullptr &&
         submission.malleable == nullptr;
}

}  // namespace

// Whether "--budget=0" keeps a job away from its user's pot.
bool Admission::opts_out(const market_submission_t& submission) const {
  if (submission.budget == nullptr || submission.budget_rate != nullptr ||
      submission.value != nullptr || submission.quote != nullptr || submission.work != nullptr)
    return false;
  const Partition* partition = partition_of(site_, submission);
  if (partition == nullptr || !site_.trades(partition->name) ||
      site_.exchange_of(partition->name).with_pots() == nullptr)
    return false;
  const auto budget = Money::parse(submission.budget);
  return budget && *budget == Money();
}

// Nothing where there is no pot: the job is one without a bid.
std::optional<Answer> Admission::by_pot(const market_submission_t& submission, Time now) {
  const Partition* partition = partition_of(site_, submission);
  if (!names_no_bid(submission) || partition == nullptr || !site_.ready() ||
      submission.component != 0 || !site_.trades(partition->name) ||
      !is_user_of_pots(or_empty(submission.user)))
    return std::nullopt;
  PotExchange* exchange = site_.exchange_of(partition->name).with_pots();
  if (exchange == nullptr || exchange->settings.observes()) return std::nullopt;
  market_submission_t asked = submission;
  asked.budget = "0";
  auto draft = check(asked, now);
  if (!draft && has_pot(site_, partition->name, submission.user)) {
    Answer answer = without_bid(submission);
    if (answer.verdict == MARKET_NO_BID)
      answer.text = prefixed("goes on without your pot: " + draft.error().text);
    return answer;
  }
  if (!draft) return std::nullopt;
  draft->bid.pot = exchange->pot_of(partition->name, submission.user, draft->bid.account);
  if (draft->bid.pot.empty()) return std::nullopt;
  draft->texts.budget.clear();
  draft->user = submission.user;
  if (!site_.accounts.has_room_for(site_.jobs.live() + draft->tasks,
                                   site_.resales.waiting().size()))
    return no_room();
  if (const auto why = site_.jobs.too_many_unseen(submission.uid, now))
    return Answer{MARKET_AGAIN, prefixed(*why), "", ""};
  return decide(std::move(*draft), now);
}

}  // namespace market
