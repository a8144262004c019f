// SPDX-License-Identifier: GPL-2.0-or-later
// submit: who asks for what, when, paid by whom; then accept at a price, or refuse with what would
// do. One file although it is long: what is checked before a price and after it must agree.
#include "core/market/admission.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/market/abacus_options.h"
#include "core/market/class_choice.h"
#include "core/market/convert.h"
#include "core/market/note.h"
#include "core/market/sizing.h"
#include "core/market/text.h"
#include "core/plan/fit_reason.h"
#include "core/util/account_name.h"
#include "core/util/slurm_time.h"
#include "core/words/phrases.h"

namespace market {
namespace {

Answer refuse(const std::string& why) {
  return Answer{MARKET_REJECTED, prefixed(why), "", ""};
}

Answer again(const std::string& why) {
  return Answer{MARKET_AGAIN, prefixed(why), "", ""};
}

}  // namespace

// What the job's note says of the bid and of the promise, until tasks are seen.
Note Admission::note_of_acceptance(const Draft& draft, const Provisional& provisional, Time now) {
  const Terms& first = provisional.tasks.front().terms;
  Note note;
  note.token = provisional.token;
  note.account = draft.bid.account;
  note.rule = first.rule;
  note.markup = first.markup;
  note.ex_post = first.ex_post;
  note.start = first.start;
  note.end = first.promised_end;
  note.submitted = now;
  note.budget = draft.texts.budget;
  note.rate_text = draft.texts.rate;
  note.value = draft.texts.value;
  note.quote = draft.texts.quote;
  note.list = provisional.list;
  note.reserved = provisional.reserved;
  note.workload = draft.texts.workload;
  note.malleable = draft.texts.malleable;
  note.job_class = draft.bid.request.job_class;
  note.work = draft.texts.work;
  note.pot = draft.bid.pot;
  note.utility = draft.texts.utility;
  note.array_budget = draft.texts.array_budget;
  note.array_tasks = draft.bid.array_tasks;
  note.array_limit = draft.bid.array_tasks > 0 ? draft.throttle : 0;
  if (first.block) note.block = block_text(*first.block, 0, 0);
  note.has_level = draft.bid.level != 0;
  return note;
}

Answer Admission::submit(const market_submission_t& submission, Time now) {
  if (submission.follows != 0) return submit_component(submission, now);
  if (opts_out(submission)) return without_bid(submission);
  if (auto answer = by_pot(submission, now)) return std::move(*answer);
  if (!market_has_bid(&submission)) {
    if (submission.workload != nullptr || submission.malleable != nullptr)
      return refuse("--workload and --malleable are for a bid: add --budget-rate=CREDITS");
    if (submission.utility != nullptr)
      return refuse("--utility is a part of a bid: add --budget=CREDITS");
    return without_bid(submission);
  }
  if (!site_.ready()) return unavailable();
  if (submission.component != 0) return submit_component(submission, now);
  const bool names_several = or_empty(submission.partition).find(',') != std::string_view::npos;
  auto draft = names_several ? check_several(submission, now) : check(submission, now);
  if (!draft) return refuse(draft.error().text);
  if (!site_.accounts.has_room_for(site_.jobs.live() + site_.arrays.waiting_tasks() + draft->tasks,
                                   site_.resales.waiting().size()))
    return no_room();
  if (draft->row && draft->row->is_held &&
      site_.held_quotes.in_use(submission.uid, draft->row->name.row))
    return again("a submission that is not a job yet takes this quote: try again");
  if (draft->row && !draft->row->is_held && site_.menus.in_use(submission.uid))
    return again("a submission that is not a job yet takes a row of this menu: try again");
  if (const auto why = site_.jobs.too_many_unseen(submission.uid, now)) return again(*why);
  return decide(std::move(*draft), now);
}

Answer Admission::unavailable() const {
  // For a moment only; an unbilled run would be worth waiting for it.
  if (site_.is_starting()) return again("it is starting: try again");
  if (site_.is_recovering()) return again("its books are opened anew: try again");
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

namespace {

// Tasks of an array that are bids of their own, with a record each in Slurm.
std::uint32_t most_bids_of(const Exchange& exchange) {
  constexpr std::uint32_t kMostInAuction = 1000;
  return exchange.promises() ? kMostOwnPlaces : kMostInAuction;
}

}  // namespace

Result<Draft> Admission::check(const market_submission_t& submission, Time now) const {
  Draft draft;
  const int given = (submission.budget != nullptr) + (submission.budget_rate != nullptr) +
                    (submission.value != nullptr) + (submission.quote != nullptr) +
                    (submission.array_budget != nullptr);
  if (given > 1 && submission.array_budget != nullptr)
    return fail("give --array-budget or one of --budget, --budget-rate, --value and --quote");
  if (given > 1) return fail("give one of --budget, --budget-rate, --value and --quote");
  if (given > 0 && submission.work != nullptr)
    return fail(
        "--work is a bid of its own: leave out --budget, --budget-rate, --value and --quote");
  if (given == 0 && submission.work == nullptr)
    return fail("--class is a part of a bid: add --budget, --value, --work or --quote");
  draft.texts = {std::string(or_empty(submission.budget)),
                 std::string(or_empty(submission.value)),
                 std::string(or_empty(submission.quote)),
                 std::string(or_empty(submission.budget_rate)),
                 {},
                 {},
                 std::string(or_empty(submission.work))};
  draft.texts.array_budget = or_empty(submission.array_budget);
  if (submission.work != nullptr) {
    const auto work = parse_work(draft.texts.work);
    if (!work) return tl::unexpected(work.error());
    draft.bid.worth.work = *work;
  } else if (submission.quote == nullptr) {
    auto worth = parse_worth(draft.texts);
    if (!worth) return tl::unexpected(worth.error());
    draft.bid.worth = *worth;
  }
  const auto partition = check_partition(or_empty(submission.partition));
  if (!partition) return tl::unexpected(partition.error());

  Request& request = draft.bid.request;
  request.partition = (*partition)->name;
  request.qos = lower_case(or_empty(submission.qos));
  const bool is_malleable = submission.workload != nullptr || submission.malleable != nullptr;
  SizeOptions size = size_options(submission.size);
  if (is_malleable) {
    if (auto checked = check_malleable(submission); !checked)
      return tl::unexpected(checked.error());
    size.max_nodes = 1;
  }
  auto demand = site_.demand_for(size, request.partition);
  if (is_malleable) {
    if (!demand) return tl::unexpected(demand.error());
    request.demand = *demand;
    if (auto made = make_malleable(site_, submission, &draft); !made)
      return tl::unexpected(made.error());
  } else {
    const auto limit = check_time_limit(submission.time_limit_min, **partition);
    if (!limit) return tl::unexpected(limit.error());
    request.duration = *limit;
  }
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
  if (submission.array_budget == nullptr) {
    const Exchange& exchange = site_.exchange_of(request);
    const bool sells_blocks = exchange.sells_blocks() && !site_.observes;
    const std::uint32_t largest = exchange.settings.max_array_tasks;
    const std::uint32_t most = sells_blocks ? largest : std::min(largest, most_bids_of(exchange));
    if (draft.tasks > most)
      return fail(fmt::format("{} array tasks: a bid covers at most {} here", draft.tasks, most));
    if (sells_blocks && draft.tasks > kMostOwnPlaces) draft.bid.array_tasks = draft.tasks;
  }
  if (!demand) return tl::unexpected(demand.error());
  request.demand = std::move(*demand);
  if (auto misfit = fit_reason(request.demand.shape, request.partition, site_.cluster.plan()))
    return fail(*misfit);
  draft.bid.uid = submission.uid;
  draft.held = submission.held;
  auto account = check_account(or_empty(submission.account), submission, draft.set_account);
  if (!account) return tl::unexpected(account.error());
  set_account(draft.bid, std::move(*account));
  if (auto taken = take_abacus_options(site_, submission, draft); !taken)
    return tl::unexpected(taken.error());
  const auto settled = submission.quote != nullptr ? take_row(draft, submission, now)
                                                   : settle_class(draft, submission, now);
  if (!settled) return tl::unexpected(settled.error());
  return draft;
}

std::string JobBook::next_token() {
  return fmt::format("{:016x}{:x}", token_seed_, ++tokens_);
}

namespace {

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
  Exchange& exchange = site_.exchange_of(request);
  if (exchange.is_worthless(draft.bid, now, now)) return refuse(worthless_text(draft.bid));
  const bool is_held = draft.row && draft.row->is_held;
  if (draft.row) provisional.reserved = draft.row->reserved;
  if (draft.row) provisional.list = draft.row->list;
  if (provisional.list) provisional.list->user_held = draft.held;
  if (is_held) site_.held_quotes.let_go(draft.bid.uid, draft.row->name.row);
  const Money available = site_.accounts.available(draft.bid.account);
  Group group = exchange.place_tasks(draft, provisional.token, wish_for(draft.bid, now), now);
  if (group.missing && draft.row && draft.row->name.later) {
    group = place_later(draft, provisional.token, std::move(group), now);
    provisional.bid = draft.bid;
    provisional.texts = draft.texts;
  }
  const bool per_task = draft.array && draft.bid.array_tasks == 0 &&
                        exchange.settings.arrays == ArrayFunding::kPerTask;
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
    if (is_held) site_.held_quotes.take_again(draft.bid.uid, draft.row->name.row, now);
    if (!lacks_funds && !draft.row) site_.lessons.teach_refused(draft, needed, now);
    return refuse(refusal);
  }
  provisional.tasks = std::move(group.tasks);
  return accept(draft, std::move(provisional), now);
}

namespace {

// The start of its last wave, where it has waves.
Time last_start_of(const Terms& terms) {
  return terms.block ? terms.promised_end - terms.block->cycle : terms.start;
}

std::string lanes_text(const Provisional& provisional) {
  const auto& block = provisional.tasks.front().terms.block;
  return block ? fmt::format(", {} at a time", block->lanes) : "";
}

}  // namespace

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
    starts = std::max(starts, last_start_of(task.terms));
    ends = std::max(ends, task.terms.promised_end);
  }
  const std::string& account = draft.bid.account;
  const Money available = site_.accounts.available(account);
  site_.accounts.set_aside(account, total);

  Note note = note_of_acceptance(draft, provisional, now);
  note.observed = site_.observes;
  note.price =
      cheapest;  // should everything be forgotten before the tasks are seen, nobody pays too much
  note.waiting = funded == 0;

  Answer answer;
  // With tasks that must wait the whole array comes in held; the first pass lets the others go.
  // So does a job that starts only on nodes that are awarded to it.
  const bool all_funded = funded == provisional.tasks.size();
  // One of a list waits for the others, and what stands for a place never starts.
  const bool kept_back =
      !site_.observes && site_.exchange_of(draft.bid.request).holds_until_turn(draft.bid);
  const bool waits = provisional.list || provisional.reserved;
  answer.verdict = all_funded && !kept_back && !waits ? MARKET_ACCEPTED : MARKET_WAITING;
  note.kept_back = kept_back && !draft.held;
  provisional.comes_held = !site_.observes && answer.verdict == MARKET_WAITING && !waits;
  answer.note = write_note(note);
  if (draft.set_account) answer.account = account;
  if (draft.bid.malleable)
    answer.time_limit_min = static_cast<std::uint32_t>(draft.bid.request.duration / 60);
  if (draft.set_partition) answer.partition = draft.bid.request.partition;
  if (funded > 0) {
    const std::uint32_t tasks = draft.bid.array_tasks > 0 ? draft.tasks : funded;
    const std::string what = draft.array ? counted(tasks, "task") + " " : "";
    answer.text = fmt::format(
        "{}accepted for {} {} ({}){}, starts by {}, done by {}{}; {} left to spend", what,
        enough_text(total), site_.config.currency, account, lanes_text(provisional),
        format_time_short(starts, now), format_time_short(ends, now), why_late(draft, starts, now),
        there_is_text(site_.accounts.available(account)));
    if (draft.row)
      answer.text = fmt::format(
          "accepted for {} {} ({}), {}, done by {}{}", enough_text(total), site_.config.currency,
          account, words_for(*draft.row), format_time_short(ends, now),
          draft.row->contract.ex_post ? "; if it is late you pay less, never more" : "");
    if (auto text = site_.exchange_of(draft.bid.request).acceptance(draft.bid, what, now))
      answer.text = std::move(*text);
    if (draft.learned_runs > 0)
      answer.text += fmt::format("; utility {} learned from {} (smarket show utility)",
                                 draft.texts.utility.str(), counted(draft.learned_runs, "run"));
  }
  if (funded < provisional.tasks.size()) {
    if (!answer.text.empty()) answer.text += '\n';
    answer.text += waiting_text(
        draft,
        provisional.tasks.front().terms.block ? draft.tasks : provisional.tasks.size() - funded,
        waiting, available - total);
  }
  const bool quiet = site_.config.quiet == Quiet::kAccepted && all_funded;
  answer.text = quiet ? "" : prefixed(answer.text);
  answer.ticket = provisional.ticket;
  if (draft.row && draft.row->is_held) {
    site_.held_quotes.use(draft.bid.uid, draft.row->name.row, provisional.token);
  } else if (draft.row) {
    site_.menus.use(draft.bid.uid, provisional.token);
  }
  site_.jobs.keep_provisional(std::move(provisional));
  return answer;
}

}  // namespace market
