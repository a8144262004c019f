// SPDX-License-Identifier: GPL-2.0-or-later
// A bid that names several partitions: the cheapest posted start of all of them is taken.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/market/admission.h"
#include "core/market/text.h"

namespace market {
namespace {

// The submission as it would be with each of its partitions alone.
std::vector<market_submission_t> each_way(const market_submission_t& submission,
                                          const std::vector<std::string>& names) {
  std::vector<market_submission_t> alone;
  for (const std::string& name : names) {
    market_submission_t one = submission;
    one.partition = name.c_str();
    const market_way_t* const end = submission.ways + submission.way_count;
    const market_way_t* const way = std::find_if(
        submission.ways, end,
        [&name](const market_way_t& other) { return or_empty(other.partition) == name; });
    if (submission.way_count > 0 && way == end) continue;  // Slurm will not let it in
    if (way != end) {
      one.qos = way->qos;
      one.size = way->size;
    }
    alone.push_back(one);
  }
  return alone;
}

}  // namespace

// Prices that are posted and bids in an auction cannot be compared.
Result<void> Admission::check_mix(const std::vector<std::string>& names) const {
  for (const std::string& name : names) {
    if (site_.cluster.find_partition(name) == nullptr)
      return fail(fmt::format("there is no partition {}", printable(name)));
    if (names.size() == 1) break;
    const char* why = !site_.trades(name)                   ? "takes no bids"
                      : site_.only_observed(name)           ? "has a market that only observes"
                      : !site_.exchange_of(name).promises() ? "holds an auction"
                                                            : nullptr;
    if (why != nullptr) {
      return fail(fmt::format(
          "of several partitions each must post prices, and {} {}: name it alone or leave it out",
          name, why));
    }
  }
  return {};
}

// A partition that the bid cannot have (down, time limit, size) is passed over while there is
// another.
Result<Draft> Admission::check_several(const market_submission_t& submission, Time now) const {
  const std::vector<std::string> names = names_of(or_empty(submission.partition));
  if (names.empty()) return check(submission, now);
  if (auto mix = check_mix(names); !mix) return tl::unexpected(mix.error());
  std::vector<Draft> drafts;
  std::string first_fault;
  for (const market_submission_t& alone : each_way(submission, names)) {
    auto draft = check(alone, now);
    if (draft) {
      draft->set_partition = true;
      drafts.push_back(std::move(*draft));
    } else if (first_fault.empty()) {
      first_fault = draft.error().text;
    }
  }
  if (drafts.empty()) return fail(first_fault);
  return cheapest(std::move(drafts), now);
}

// Of those that would be accepted the one that costs least, with a value the one that leaves most
// of it; of the others the one whose cheapest start costs least, so that its refusal says what
// would do.
Draft Admission::cheapest(std::vector<Draft> drafts, Time now) const {
  struct Rank {
    bool refused = true;
    double costs = std::numeric_limits<double>::infinity();
    Time start = 0;
    auto operator<=>(const Rank&) const = default;
  };
  const auto rank_of = [&](const Draft& draft) {
    Exchange& exchange = site_.exchange_of(draft.bid.request);
    if (const auto trial = exchange.try_out(draft, wish_for(draft.bid, now), now)) {
      double costs = trial->total.credits();
      if (draft.bid.worth.value) {
        const Time done =
            trial->last_start + draft.bid.request.duration + exchange.settings.start_slack;
        costs -= draft.tasks * exchange.worth_at(draft.bid, now, done);
      }
      return Rank{false, costs, trial->last_start};
    }
    const Found found = exchange.find(draft.bid.request, Wish{}, now);
    return found.choice ? Rank{true, found.choice->price.credits(), found.choice->start} : Rank{};
  };
  std::size_t best = 0;
  Rank best_rank = rank_of(drafts.front());
  for (std::size_t i = 1; i < drafts.size(); ++i) {
    const Rank rank = rank_of(drafts[i]);
    if (rank < best_rank) {
      best = i;
      best_rank = rank;
    }
  }
  return std::move(drafts[best]);
}

}  // namespace market
