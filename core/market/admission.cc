// SPDX-License-Identifier: GPL-2.0-or-later
// submit: who asks for what, when, paid by whom; then accept at a price, or refuse with what would
// do.
#include "core/market/admission.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/market/convert.h"
#include "core/market/note.h"
#include "core/market/text.h"
#include "core/plan/fit_reason.h"
#include "core/util/account_name.h"
#include "core/util/slurm_time.h"
#include "core/words/phrases.h"

namespace market {
namespace {

constexpr Time kFarthest = Time{1} << 40;           // sums with it stay in range
constexpr std::uint32_t kNoTimeLimit = 0x7fffffff;  // Slurm's INFINITE and NO_VAL lie above

Answer refuse(const std::string& why) {
  return Answer{MARKET_REJECTED, prefixed(why), "", ""};
}

Answer again(const std::string& why) {
  return Answer{MARKET_AGAIN, prefixed(why), "", ""};
}

}  // namespace

Answer Admission::submit(const market_submission_t& submission, Time now) {
  if (submission.budget == nullptr && submission.budget_rate == nullptr &&
      submission.value == nullptr && submission.quote == nullptr)
    return without_bid(submission);
  if (!site_.ready()) return unavailable();
  const bool names_several = or_empty(submission.partition).find(',') != std::string_view::npos;
  auto draft = names_several ? check_several(submission, now) : check(submission, now);
  if (!draft) return refuse(draft.error().text);
  if (!site_.accounts.has_room_for(site_.jobs.live() + draft->tasks)) return no_room();
  if (draft->row && site_.menus.in_use(submission.uid))
    return again("a submission that is not a job yet takes a row of this menu: try again");
  if (const auto why = site_.jobs.too_many_unseen(submission.uid, now)) return again(*why);
  return decide(std::move(*draft), now);
}

Answer Admission::unavailable() const {
  // For a moment only; an unbilled run would be worth waiting for it.
  if (site_.is_starting()) return again("it is starting: try again");
  return unavailable(site_.has_config ? "its books cannot be used"
                                      : "its configuration cannot be read");
}

// Too much waits for the disk, for a moment or for good.
Answer Admission::no_room() const {
  const char* what = "too much is waiting for its books";
  if (site_.config.on_error == OnError::kUnbilled) return unavailable(what);
  return again(fmt::format("{}: try again", what));
}

Answer Admission::unavailable(const char* what) const {
  if (site_.has_config && site_.config.on_error == OnError::kUnbilled) {
    return Answer{
        MARKET_UNBILLED,
        prefixed(fmt::format("not available now ({}): the job runs without a bid, unbilled", what)),
        "", ""};
  }
  return refuse(fmt::format("not available now ({}): submit again later, or without a bid", what));
}

Answer Admission::without_bid(const market_submission_t& submission) const {
  std::string_view names = or_empty(submission.partition);
  if (names.empty()) {
    const Partition* partition = site_.cluster.find_partition("");
    if (partition == nullptr) return {};
    names = partition->name;
  }
  if (!site_.refuses_unbid(names)) return {};
  return refuse("this partition takes jobs with a bid only: add --budget=CREDITS");
}

Result<const Partition*> Admission::check_partition(std::string_view names) const {
  if (names.find(',') != std::string_view::npos) {
    return fail(fmt::format("name one partition, not {}", printable(names)));
  }
  const Partition* partition = site_.cluster.find_partition(names);
  if (partition == nullptr) {
    return fail(names.empty() ? "no partition is named and there is no default: add --partition"
                              : fmt::format("there is no partition {}", printable(names)));
  }
  if (!site_.trades(partition->name)) {
    return fail(
        fmt::format("partition {} takes no bids: leave out --budget and --value", partition->name));
  }
  if (const std::string& why = site_.exchange_of(partition->name).refusal; !why.empty()) {
    return fail(fmt::format("partition {} takes no bids now: {}; the admin must mend market.conf",
                            partition->name, why));
  }
  if (site_.only_observed(partition->name)) {
    return fail(
        fmt::format("the market of partition {} only observes: submit a job of its own there",
                    partition->name));
  }
  if (!partition->up) return fail(fmt::format("partition {} is down", partition->name));
  return partition;
}

Result<Time> Admission::check_time_limit(std::uint32_t minutes, const Partition& partition) const {
  Time limit = minutes >= kNoTimeLimit ? 0 : static_cast<Time>(minutes) * 60;
  if (limit == 0) limit = partition.default_time;
  if (limit == 0) return fail("a job with a bid needs a time limit: add --time");
  if (partition.max_time != 0 && limit > partition.max_time) {
    return fail(fmt::format("time limit {} is above the {} of partition {}", time_limit_text(limit),
                            time_limit_text(partition.max_time), partition.name));
  }
  return limit;
}

// The window the mechanism sees ends start_slack before the deadline, so that start-up and clean-up
// are in time too.
Result<void> Admission::check_window(Request& request, Time begin, Time deadline, Time now) const {
  const MarketSettings& settings = site_.exchange_of(request).settings;
  begin = std::min(begin, kFarthest);
  request.earliest = std::max(begin, now);
  const Time busy = request.duration + settings.start_slack;
  const Time horizon = now + settings.horizon;
  if (deadline != 0 && deadline <= now) {
    return fail(fmt::format("the deadline {} is in the past", format_time_short(deadline, now)));
  }
  if (deadline != 0 && request.earliest + busy > deadline) {
    return fail(
        fmt::format("the deadline {} is too near: a time limit of {} and {} s for start and "
                    "clean-up end at {} at the earliest",
                    format_time_short(deadline, now), time_limit_text(request.duration),
                    settings.start_slack, format_time_short(request.earliest + busy, now)));
  }
  if (request.earliest + busy > horizon) {
    return fail(fmt::format("the job would end after {}: the market plans {} ahead",
                            format_time_short(horizon, now), time_limit_text(settings.horizon)));
  }
  request.deadline = site_.window_end(request, deadline, now);
  return {};
}

Result<Draft> Admission::check(const market_submission_t& submission, Time now) const {
  Draft draft;
  const int given = (submission.budget != nullptr) + (submission.budget_rate != nullptr) +
                    (submission.value != nullptr) + (submission.quote != nullptr);
  if (given > 1) return fail("give one of --budget, --budget-rate, --value and --quote");
  draft.texts = {std::string(or_empty(submission.budget)), std::string(or_empty(submission.value)),
                 std::string(or_empty(submission.quote)),
                 std::string(or_empty(submission.budget_rate))};
  if (submission.quote == nullptr) {
    auto worth = parse_worth(draft.texts);
    if (!worth) return tl::unexpected(worth.error());
    draft.bid.worth = *worth;
  }
  if (submission.het) return fail("heterogeneous jobs cannot carry a bid");
  const auto partition = check_partition(or_empty(submission.partition));
  if (!partition) return tl::unexpected(partition.error());

  Request& request = draft.bid.request;
  request.partition = (*partition)->name;
  request.qos = lower_case(or_empty(submission.qos));
  const auto limit = check_time_limit(submission.time_limit_min, **partition);
  if (!limit) return tl::unexpected(limit.error());
  request.duration = *limit;
  if (draft.bid.worth.rate && !site_.exchange_of(request).takes_rates())
    return fail(std::string(kNoRates));
  fit_budget(draft.bid);
  if (auto window = check_window(request, submission.begin, submission.deadline, now); !window) {
    return tl::unexpected(window.error());
  }
  draft.wanted_deadline = submission.deadline;
  draft.array = submission.array_tasks > 0;
  draft.tasks = std::max<std::uint32_t>(1, submission.array_tasks);
  draft.throttle = submission.array_throttle;
  if (const auto most = site_.exchange_of(request).settings.max_array_tasks; draft.tasks > most) {
    return fail(fmt::format("{} array tasks: a bid covers at most {}", draft.tasks, most));
  }
  auto demand = site_.demand_for(size_options(submission.size), request.partition);
  if (!demand) return tl::unexpected(demand.error());
  request.demand = std::move(*demand);
  if (auto misfit = fit_reason(request.demand.shape, request.partition, site_.cluster.plan()))
    return fail(*misfit);
  draft.bid.uid = submission.uid;
  draft.held = submission.held;
  auto account = check_account(or_empty(submission.account), submission, draft.set_account);
  if (!account) return tl::unexpected(account.error());
  draft.bid.account = std::move(*account);
  if (submission.quote != nullptr) {
    if (auto taken = take_row(draft, submission, now); !taken) return tl::unexpected(taken.error());
  }
  return draft;
}

std::string JobBook::next_token() {
  return fmt::format("{:016x}{:x}", token_seed_, ++tokens_);
}

namespace {

std::string no_place_text(bool for_sale, bool capped, std::uint32_t placed, std::uint32_t tasks) {
  std::string text = !for_sale ? "nothing is for sale in the job's window"
                               : "no nodes are free long enough in the job's window";
  if (tasks > 1) text += fmt::format(" for more than {} of {} tasks", placed, tasks);
  if (capped) text += " (only the best starts were tried)";
  return text + ".";
}

std::string worthless_text(const Bid& bid) {
  if (bid.worth.budget) return "a budget of 0 buys nothing here: bid more, or run without a bid";
  return fmt::format(
      "the value would be 0 when the job ends after its time limit ({}): let it fall later, or run "
      "without a bid",
      time_limit_text(bid.request.duration));
}

std::string waiting_text(const Draft& draft, std::size_t tasks, Money needed, Money available) {
  const bool many = draft.array && tasks != 1;
  return fmt::format("{}{} for funds: {} {}, available {} on {}",
                     draft.array ? counted(tasks, "task") + " " : "", many ? "wait" : "waits",
                     many ? "need" : "needs", enough_text(needed), there_is_text(available),
                     draft.bid.account);
}

}  // namespace

// Why the next task has no place at a price that the bid covers.
std::string Admission::refusal_of(const Draft& draft, const Group& group, Time now) {
  if (draft.row) return row_is_gone(draft, now);
  const Found& found = *group.missing;
  const auto placed = static_cast<std::uint32_t>(group.tasks.size());
  std::string text;
  if (found.choice && draft.bid.worth.budget) {
    text = fmt::format("needs {}{}, budget is {}.", enough_text(found.choice->price),
                       draft.array ? " per task" : "", there_is_text(*draft.bid.worth.budget));
  } else if (draft.bid.worth.value && !found.for_sale) {
    text = "at every start in the window the job's value is below its price.";
  } else {
    text = no_place_text(found.for_sale, found.capped, placed, draft.tasks);
    if (draft.throttle != 0 && draft.throttle < draft.tasks)
      text += fmt::format(" At most {} run at a time (%{}).", draft.throttle, draft.throttle);
  }
  return text + alternatives(draft, now);
}

// When one task cannot be had, all are given back.
Answer Admission::decide(Draft draft, Time now) {
  Provisional provisional;
  provisional.token = site_.jobs.next_token();
  provisional.ticket = site_.jobs.last_ticket();
  provisional.bid = draft.bid;
  provisional.texts = draft.texts;
  provisional.made = provisional.seen = now;
  provisional.user_held = draft.held;
  const Request& request = draft.bid.request;
  const Money available = site_.accounts.available(draft.bid.account);
  Exchange& exchange = site_.exchange_of(request);
  if (exchange.is_worthless(draft.bid, now, now)) return refuse(worthless_text(draft.bid));
  Group group = exchange.place_tasks(draft, provisional.token, wish_for(draft.bid, now), now);
  if (group.missing && draft.row && draft.row->name.later) {
    group = place_later(draft, provisional.token, std::move(group), now);
    provisional.bid = draft.bid;
    provisional.texts = draft.texts;
  }
  const bool per_task = draft.array && exchange.settings.arrays == ArrayFunding::kPerTask;
  const auto is_funded = [](const Provisional::Task& task) { return task.funded; };
  const bool none_funded = std::none_of(group.tasks.begin(), group.tasks.end(), is_funded);
  const bool short_of_funds = !std::all_of(group.tasks.begin(), group.tasks.end(), is_funded);
  const bool lacks_funds = !group.missing && short_of_funds &&
                           exchange.settings.no_funds == NoFunds::kRefuse &&
                           (!per_task || none_funded);
  std::string refusal;
  Money needed;
  if (group.missing) {
    exchange.take_back(group, request, provisional.token);
    refusal = refusal_of(draft, group, now);
    if (group.missing->choice) needed = group.missing->choice->price;
  } else if (lacks_funds) {
    needed = per_task ? group.dearest : group.total;
    refusal = fmt::format("needs {}, available {} on {}", enough_text(needed),
                          there_is_text(available), draft.bid.account);
  }
  if (!refusal.empty() || (short_of_funds && !per_task))
    exchange.take_back(group, request, provisional.token);
  if (!refusal.empty()) {
    if (!lacks_funds && !draft.row) site_.lessons.teach_refused(draft, needed, now);
    return refuse(refusal);
  }
  provisional.tasks = std::move(group.tasks);
  return accept(draft, std::move(provisional), now);
}

// Without a deadline the cheapest start is taken, which may be days away.
std::string Admission::why_late(const Draft& draft, Time starts, Time now) const {
  const MarketSettings& settings = site_.exchange_of(draft.bid.request).settings;
  const bool at_once = starts <= std::max(now, draft.bid.request.earliest) + settings.slot;
  if (draft.wanted_deadline != 0 || !draft.bid.worth.budget || at_once) return "";
  return fmt::format(" (cheapest within {}; add --deadline to start earlier)",
                     span_text(settings.horizon));
}

Answer Admission::accept(const Draft& draft, Provisional provisional, Time now) {
  Money total, waiting, cheapest = provisional.tasks.front().terms.price;
  Time starts = 0, ends = 0;
  std::uint32_t funded = 0;
  for (const auto& task : provisional.tasks) {
    cheapest = std::min(cheapest, task.terms.price);
    if (!task.funded) {
      waiting += task.terms.price;
      continue;
    }
    ++funded;
    total += task.terms.price;
    starts = std::max(starts, task.terms.start);
    ends = std::max(ends, task.terms.promised_end);
  }
  const std::string& account = draft.bid.account;
  const Money available = site_.accounts.available(account);
  site_.accounts.set_aside(account, total);

  Note note;
  note.observed = site_.observes;
  const Terms& first = provisional.tasks.front().terms;
  note.token = provisional.token;
  note.account = account;
  note.rule = first.rule;
  note.markup = first.markup;
  // Should everything be forgotten before the tasks are seen, nobody pays too much.
  note.price = cheapest;
  note.ex_post = first.ex_post;
  note.start = first.start;
  note.end = first.promised_end;
  note.submitted = now;
  note.waiting = funded == 0;
  note.budget = draft.texts.budget;
  note.rate_text = draft.texts.rate;
  note.value = draft.texts.value;
  note.quote = draft.texts.quote;

  Answer answer;
  // With tasks that must wait the whole array comes in held; the first pass lets the others go.
  // So does a job that starts only on nodes that are awarded to it.
  const bool all_funded = funded == provisional.tasks.size();
  const bool kept_back = !site_.observes && site_.exchange_of(draft.bid.request).awards_nodes();
  answer.verdict = all_funded && !kept_back ? MARKET_ACCEPTED : MARKET_WAITING;
  note.kept_back = kept_back && !draft.held;
  provisional.comes_held = !site_.observes && answer.verdict == MARKET_WAITING;
  answer.note = write_note(note);
  if (draft.set_account) answer.account = account;
  if (draft.set_partition) answer.partition = draft.bid.request.partition;
  if (funded > 0) {
    const std::string what = draft.array ? counted(funded, "task") + " " : "";
    answer.text =
        fmt::format("{}accepted for {} {} ({}), starts by {}, done by {}{}; {} left to spend", what,
                    enough_text(total), site_.config.currency, account,
                    format_time_short(starts, now), format_time_short(ends, now),
                    why_late(draft, starts, now), there_is_text(site_.accounts.available(account)));
    if (draft.row)
      answer.text = fmt::format(
          "accepted for {} {} ({}), row {} of menu {}, done by {}{}", enough_text(total),
          site_.config.currency, account, draft.row->name.row, draft.row->name.menu,
          format_time_short(ends, now),
          draft.row->contract.ex_post ? "; if it is late you pay less, never more" : "");
    if (auto text = site_.exchange_of(draft.bid.request).acceptance(draft.bid, what, now))
      answer.text = std::move(*text);
  }
  if (funded < provisional.tasks.size()) {
    if (!answer.text.empty()) answer.text += '\n';
    answer.text +=
        waiting_text(draft, provisional.tasks.size() - funded, waiting, available - total);
  }
  const bool quiet = site_.config.quiet == Quiet::kAccepted && all_funded;
  answer.text = quiet ? "" : prefixed(answer.text);
  answer.ticket = provisional.ticket;
  if (draft.row) site_.menus.use(draft.bid.uid, provisional.token);
  site_.jobs.keep_provisional(std::move(provisional));
  return answer;
}

}  // namespace market
