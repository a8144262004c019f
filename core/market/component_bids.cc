// SPDX-License-Identifier: GPL-2.0-or-later
// A bid for a heterogeneous job (sbatch --budget=… first : second). Slurm shows its components one
// after the other and never says which is the last. So each one that comes is placed anew together with
// those before it: all of them have one start, the sum of their prices is compared with the budget once,
// and what the last one was told is what holds. One that is refused gives up those before it, of which
// Slurm then makes no jobs either.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/market/admission.h"
#include "core/market/note.h"
#include "core/market/text.h"
#include "core/market/together.h"
#include "core/util/slurm_time.h"
#include "core/words/phrases.h"

namespace market {
namespace {

constexpr std::size_t kMostComponents = 32;

using Provisionals = std::vector<Provisional*>;

void give_places_back(Site& site, const Provisionals& components) {
  for (Provisional* component : components) {
    Provisional::Task& task = component->tasks.front();
    if (!std::exchange(task.funded, false)) continue;
    site.cluster.bookings().cancel(booking_key(component->token, 0));
    site.exchange_of(component->bid.request)
        .release(component->bid.request, task.terms.start, task.terms.start);
    site.accounts.give_back(component->bid.account, task.terms.price);
  }
}

// The first component keeps what is left of the budget, so that together they never cost more.
void share_budget(const Provisionals& components, Money budget) {
  for (std::size_t i = components.size(); i-- > 0;) {
    const Money price = components[i]->tasks.front().terms.price;
    const Money part = i == 0 ? budget : price;
    budget = budget - price;
    components[i]->bid.worth = Worth{part, std::nullopt};
    components[i]->texts.budget = part.to_string();
  }
}

void buy(Site& site, Provisional& component, Choice choice, Time now) {
  const Request& request = component.bid.request;
  Exchange& exchange = site.exchange_of(request);
  const Time end = choice.start + request.duration + exchange.settings.start_slack;
  Terms terms{choice.price,
              choice.start,
              end,
              std::string(exchange.rule()),
              choice.ex_post,
              record_of(exchange, request, now),
              now,
              now};
  site.cluster.bookings().book(booking_key(component.token, 0), choice.placement, choice.start,
                               end);
  exchange.promise(request, choice.start);
  site.accounts.set_aside(component.bid.account, choice.price);
  component.tasks = {{std::move(terms), std::move(choice.placement), true, false}};
}

}  // namespace

std::optional<std::string> Admission::fault_of_component(const market_submission_t& submission,
                                                         const Provisionals& before) const {
  if (submission.component > 1 && before.size() + 1 != submission.component)
    return "the bid for a heterogeneous job stands before its first ':'";
  if (before.size() >= kMostComponents)
    return fmt::format("a heterogeneous job with a bid has at most {} components", kMostComponents);
  if (submission.interactive && before.empty())
    return "salloc and srun take no bid for a heterogeneous job: submit it with sbatch";
  const bool is_budget_alone = submission.budget != nullptr && submission.budget_rate == nullptr &&
                               submission.value == nullptr && submission.quote == nullptr &&
                               submission.work == nullptr && submission.job_class == nullptr &&
                               submission.workload == nullptr && submission.malleable == nullptr &&
                               submission.utility == nullptr && submission.array_budget == nullptr;
  if (!is_budget_alone)
    return "the bid for a heterogeneous job is --budget alone, one for all its components";
  const auto budget = Money::parse(submission.budget);
  if (budget && !before.empty() && *budget != before.front()->component->budget)
    return fmt::format(
        "--budget={}: it differs from the first component's {}: one budget is for all components",
        printable(submission.budget), enough_text(before.front()->component->budget));
  return std::nullopt;
}

Answer Admission::submit_component(const market_submission_t& submission, Time now) {
  const Provisionals before = site_.jobs.components(submission.follows);
  const auto give_up = [&](const std::string& why, market_verdict verdict = MARKET_REJECTED) {
    give_places_back(site_, before);
    for (Provisional* component : Provisionals(before)) {
      site_.jobs.count_claimed();
      site_.jobs.forget_provisional(std::string(component->token));
    }
    return Answer{verdict, prefixed(why), "", ""};
  };
  if (site_.is_recovering()) return give_up("its books are opened anew: try again", MARKET_AGAIN);
  if (!site_.ready()) return give_up("not available now: submit again later");
  if (const auto fault = fault_of_component(submission, before)) return give_up(*fault);
  auto draft = check(submission, now);
  if (!draft) return give_up(draft.error().text);
  if (!site_.exchange_of(draft->bid.request).promises())
    return give_up(fmt::format("{} is an auction: it keeps no places that start together",
                               site_.exchange_of(draft->bid.request).rule()));
  const bool has_room = site_.accounts.has_room_for(
      site_.jobs.live() + site_.arrays.waiting_tasks() + 1, site_.resales.waiting().size());
  if (!has_room) return give_up("too much is waiting for its books: try again", MARKET_AGAIN);
  if (const auto why = site_.jobs.too_many_unseen(submission.uid, now))
    return give_up(*why, MARKET_AGAIN);
  Provisional made;
  made.token = site_.jobs.next_token();
  made.ticket = site_.jobs.last_ticket();
  made.bid = draft->bid;
  made.made = made.seen = now;
  made.user_held = draft->held;
  made.component = {before.empty() ? made.token : before.front()->token,
                    static_cast<std::uint32_t>(before.size()), *draft->bid.worth.budget};
  made.tasks.emplace_back().funded = false;
  Provisionals all = before;
  all.push_back(&made);
  give_places_back(site_, before);
  if (const auto why = place_components(all, made.component->budget, now)) return give_up(*why);
  return accept_component(*draft, std::move(made), before, now);
}

// Why they cannot be had together; nothing when they are bought now.
std::optional<std::string> Admission::place_components(const Provisionals& components, Money budget,
                                                       Time now) {
  std::vector<Request> requests;
  for (const Provisional* component : components) requests.push_back(component->bid.request);
  auto found = cheapest_together(site_, requests, now);
  const std::string whose =
      components.size() == 1 ? "" : fmt::format(" for {} components", components.size());
  if (!found)
    return fmt::format("no start with free nodes is for sale in its window{}{}", whose,
                       components.size() == 1 ? "" : " that start together, on nodes of their own");
  if (found->total > budget)
    return fmt::format("needs {}{}, budget is {}", enough_text(found->total), whose,
                       there_is_text(budget));
  for (std::size_t i = 0; i < components.size(); ++i)
    buy(site_, *components[i], std::move(found->parts[i]), now);
  for (const Provisional* component : components) {
    const std::string& account = component->bid.account;
    const Money left = site_.accounts.available(account);
    if (left >= Money()) continue;
    give_places_back(site_, components);
    return fmt::format("needs {}{}, {} more than is available on {}", enough_text(found->total),
                       whose, enough_text(Money() - left), account);
  }
  share_budget(components, budget);
  return std::nullopt;
}

Answer Admission::accept_component(const Draft& draft, Provisional made, Provisionals before,
                                   Time now) {
  before.push_back(&made);
  Money total;
  Time ends = 0;
  for (const Provisional* component : before) {
    total += component->tasks.front().terms.price;
    ends = std::max(ends, component->tasks.front().terms.promised_end);
  }
  Draft told = draft;
  told.texts = made.texts;
  Note note = note_of_acceptance(told, made, now);
  note.price = made.tasks.front().terms.price;
  note.budget_of_all = made.component->budget;
  Answer answer;
  answer.verdict = MARKET_ACCEPTED;
  answer.note = write_note(note);
  if (draft.set_account) answer.account = draft.bid.account;
  const bool says = before.size() > 1 && site_.config.quiet != Quiet::kAccepted;
  if (says)
    answer.text = prefixed(fmt::format(
        "accepted for {} {} ({}): {} components start together by {}, all done by {}; {} left to "
        "spend",
        enough_text(total), site_.config.currency, draft.bid.account, before.size(),
        format_time_short(made.tasks.front().terms.start, now), format_time_short(ends, now),
        there_is_text(site_.accounts.available(draft.bid.account))));
  answer.ticket = made.ticket;
  site_.jobs.keep_provisional(std::move(made));
  return answer;
}

}  // namespace market
