// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/accounts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "core/market/array_block.h"

namespace market {
namespace {

constexpr std::size_t kQueueRoom = 1'000'000;  // operations in memory at most
constexpr std::size_t kRoomPerJob =
    8;  // bid, its end, lien, its change, settlement, rest, resale, what it teaches

const char* words_for(const ledger::Operation& operation) {
  constexpr std::array<const char*, std::variant_size_v<ledger::Operation>> kWords = {
      "a lien",
      "a changed lien",
      "a bill",
      "the return of a lien",
      "a bid to learn from",
      "to forget a bid",
      "a would-be bill",
      "the asks of nodes",
      "to wait for a resale",
      "a resale",
      "a change of pots",
      "credits for another cluster",
      "a run to learn a utility from",
      "to forget the runs of a name"};
  return kWords.at(operation.index());
}

/// Of the run that a lien is for; null when the operation sets nothing aside.
const ledger::SegmentKey* run_of_lien(const ledger::Operation& operation) {
  if (const auto* placed = std::get_if<ledger::PlaceLien>(&operation)) return &placed->segment.key;
  if (const auto* changed = std::get_if<ledger::ChangeLien>(&operation))
    return &changed->segment.key;
  return nullptr;
}

}  // namespace

Accounts::Accounts(std::string cluster_name, Log log, std::function<void()> wake_books,
                   bool observes)
    : cluster_name_(std::move(cluster_name)),
      log_(std::move(log)),
      wake_books_(std::move(wake_books)),
      observes_(observes) {}

Money Accounts::can_pay(std::string_view account, const Job& job) const {
  return funds_.available(account) +
         (job.agreed.lien_account == account ? job.agreed.lien : Money());
}

bool Accounts::may_pay(std::string_view account, std::uint32_t uid) const {
  return exists(account) && (associations_enforced_ || funds_.is_member(account, uid));
}

void Accounts::set_aside(const std::string& account, Money amount) {
  funds_.pend(account, Delta{Money(), amount});
}

void Accounts::give_back(const std::string& account, Money amount) {
  funds_.unpend(account, Delta{Money(), amount});
}

void Accounts::enqueue(Queued queued) {
  queued.observed = observes_;
  for (const auto& [account, delta] : queued.deltas) funds_.pend(account, delta);
  queue_.push_back(std::move(queued));
  ++unwritten_;
  wake_books_();
}

void Accounts::record(ledger::Operation operation) {
  Queued queued;
  queued.operation = std::move(operation);
  enqueue(std::move(queued));
}

std::vector<Queued> Accounts::take_entries() {
  std::deque<Queued> taken = std::exchange(queue_, {});
  return {std::make_move_iterator(taken.begin()), std::make_move_iterator(taken.end())};
}

bool Accounts::has_room_for(std::size_t live_jobs, std::size_t rests) const {
  return unwritten_ + kRoomPerJob * live_jobs + rests <= kQueueRoom;
}

std::vector<RefusedLien> Accounts::take_results(BooksReport& news) {
  std::vector<RefusedLien> refused;
  for (std::size_t i = 0; i < news.done.size(); ++i) {
    const ledger::Outcome result = news.outcomes[i];
    if (result == ledger::Outcome::kDone || result == ledger::Outcome::kAlreadyDone) continue;
    const Queued& queued = news.done[i];
    log_(LogLevel::kInfo,
         fmt::format("job {}: the ledger refused {}", queued.job_id, words_for(queued.operation)));
    if (const ledger::SegmentKey* run = run_of_lien(queued.operation))
      refused.push_back(
          {queued.job_id, run->text(), queued.previous_lien, result == ledger::Outcome::kPaid});
  }
  unwritten_ -= news.done.size();
  std::move(news.done.begin(), news.done.end(), std::back_inserter(unread_));
  if (news.accounts) funds_.install(std::move(*news.accounts));
  if (news.changed_accounts) funds_.install_changed(std::move(*news.changed_accounts));
  if (news.accounts || news.changed_accounts) {
    const std::vector<Queued> read = std::exchange(unread_, {});
    for (const Queued& queued : read) {
      for (const auto& [account, delta] : queued.deltas) funds_.unpend(account, delta);
    }
  }
  return refused;
}

ledger::Segment Accounts::segment_of(const Job& job, double billing) const {
  ledger::Segment segment;
  segment.key = run_key(cluster_name_, job);
  segment.array_job_id = job.array_job_id;
  segment.array_task_id = job.array_job_id == 0 ? 0 : job.array_task_id;
  if (block_of(job) != nullptr) segment.array_job_id = segment.array_task_id = 0;  // of all tasks
  if (job.component) {
    segment.array_job_id = job.component->of;
    segment.array_task_id = ledger::kComponent | job.component->index;
  }
  segment.uid = job.agreed.bid.uid;
  segment.user = job.user;
  segment.account = payer(job.agreed.bid);
  segment.partition = job.agreed.bid.request.partition;
  segment.mechanism = job.agreed.terms.rule;
  segment.tres = job.seen.tres;
  segment.planned_start = job.agreed.terms.start;
  segment.promised_end = job.agreed.terms.promised_end;
  segment.quoted = job.agreed.terms.price;
  segment.time_limit = job.agreed.bid.request.duration;
  segment.billing = billing;
  return segment;
}

void Accounts::set_lien(Job& job, Money amount, double billing) {
  if (job.agreed.lien == amount && job.agreed.lien_account == payer(job.agreed.bid)) return;
  if (amount == Money()) return void_lien(job, "nothing to pay");
  Queued queued;
  queued.job_id = job.id;
  queued.previous_lien = job.agreed.lien;
  ledger::Segment segment = segment_of(job, billing);
  segment.quoted = amount;
  if (job.agreed.lien == Money()) {
    queued.operation = ledger::PlaceLien{std::move(segment)};
  } else {
    queued.operation = ledger::ChangeLien{std::move(segment)};
    queued.deltas.emplace_back(job.agreed.lien_account, Delta{Money(), Money() - job.agreed.lien});
  }
  queued.deltas.emplace_back(payer(job.agreed.bid), Delta{Money(), amount});
  job.agreed.lien = amount;
  job.agreed.lien_account = payer(job.agreed.bid);
  enqueue(std::move(queued));
}

void Accounts::void_lien(Job& job, const std::string& note) {
  if (job.agreed.lien == Money()) return;
  Queued queued;
  queued.job_id = job.id;
  queued.previous_lien = job.agreed.lien;
  queued.operation = ledger::VoidLien{run_key(cluster_name_, job), note};
  queued.deltas.emplace_back(job.agreed.lien_account, Delta{Money(), Money() - job.agreed.lien});
  job.agreed.lien = Money();
  enqueue(std::move(queued));
}

void Accounts::settle(Job& job, ledger::Segment segment, ledger::Payouts parts, bool resettled) {
  Queued queued;
  queued.job_id = job.id;
  queued.previous_lien = job.agreed.lien;
  if (!resettled || job.agreed.lien != Money()) {
    Money charged = segment.charged;
    for (const ledger::Payee& pot : parts.pots) {
      queued.deltas.emplace_back(pot.account, Delta{Money() - pot.amount, Money()});
      charged -= pot.amount;
    }
    queued.deltas.emplace_back(payer(job.agreed.bid), Delta{segment.refunded - charged, Money()});
    for (const ledger::Payee& payee : parts.payees)
      queued.deltas.emplace_back(payee.account, Delta{payee.amount, Money()});
  }
  if (job.agreed.lien != Money())
    queued.deltas.emplace_back(job.agreed.lien_account, Delta{Money(), Money() - job.agreed.lien});
  queued.operation = ledger::Settle{std::move(segment), std::move(parts.payees),
                                    std::move(parts.nodes), std::move(parts.pots)};
  job.agreed.lien = Money();
  enqueue(std::move(queued));
}

void Accounts::charge(const Job& job, ledger::Segment segment) {
  Queued queued;
  queued.job_id = job.id;
  queued.deltas.emplace_back(segment.account, Delta{Money() - segment.charged, Money()});
  queued.operation = ledger::Settle{std::move(segment), {}, {}, {}};
  enqueue(std::move(queued));
}

void Accounts::observe(Job& job, ledger::ObserveRun run, bool resettled) {
  Queued queued;
  queued.job_id = job.id;
  if (!resettled || job.agreed.lien != Money())
    queued.deltas.emplace_back(job.agreed.bid.account,
                               Delta{run.segment.refunded - run.segment.charged, Money()});
  if (job.agreed.lien != Money())
    queued.deltas.emplace_back(job.agreed.lien_account, Delta{Money(), Money() - job.agreed.lien});
  queued.operation = std::move(run);
  job.agreed.lien = Money();
  enqueue(std::move(queued));
}

void Accounts::change_pots(ledger::ChangePots change) {
  Queued queued;
  const bool closes = change.kind == ledger::ChangePots::Kind::kClose;
  // Of a receipt the books alone know whether it was presented before: until then it is worth nothing.
  const bool is_sure = change.kind != ledger::ChangePots::Kind::kReceipt;
  for (const ledger::ChangePots::Part& part : change.parts) {
    if (!is_sure) break;
    const Money moved = closes ? Money() - part.amount : part.amount;
    queued.deltas.emplace_back(part.account, Delta{Money() - moved, Money()});
    queued.deltas.emplace_back(part.pot, Delta{moved, Money()});
  }
  queued.operation = std::move(change);
  enqueue(std::move(queued));
}

void Accounts::send_credits(ledger::SendCredits sent) {
  Queued queued;
  queued.deltas.emplace_back(sent.account, Delta{Money() - sent.amount, Money()});
  queued.operation = std::move(sent);
  enqueue(std::move(queued));
}

void Accounts::offer_rest(const ledger::Rest& rest) {
  Queued queued;
  queued.job_id = rest.segment.key.job_id;
  queued.deltas.emplace_back(rest.segment.account, Delta{Money(), rest.segment.quoted});
  queued.operation = ledger::OfferRest{rest};
  enqueue(std::move(queued));
}

void Accounts::count_sale(ledger::CountSale sale, const std::vector<ledger::Rest>& rests) {
  Queued queued;
  for (const ledger::CountSale::Part& part : sale.parts) {
    const auto rest = std::find_if(rests.begin(), rests.end(), [&part](const ledger::Rest& one) {
      return one.segment.key == part.rest;
    });
    if (rest != rests.end())
      queued.deltas.emplace_back(rest->segment.account,
                                 Delta{Money(), Money() - part.resold.amount});
  }
  queued.operation = std::move(sale);
  enqueue(std::move(queued));
}

void Accounts::charge_rest(ledger::Rest rest, Money lien) {
  Queued queued;
  ledger::Segment& segment = rest.segment;
  queued.job_id = segment.key.job_id;
  segment.charged = segment.quoted;
  segment.start = segment.planned_start;
  segment.end = segment.promised_end;
  segment.note = "bought and not used";
  if (!rest.resold.empty()) {
    Money brought;
    for (const ledger::Resold& resold : rest.resold) brought += resold.amount;
    segment.note += fmt::format(", sold again for {} above the floor", brought.to_string());
  }
  queued.deltas.emplace_back(segment.account, Delta{Money() - segment.charged, Money() - lien});
  if (observes_) {
    ledger::ObserveRun would_be;
    would_be.market = rest.market;
    would_be.segment = std::move(segment);
    queued.operation = std::move(would_be);
  } else {
    queued.operation = ledger::Settle{std::move(segment), {}, {}, {}};
  }
  enqueue(std::move(queued));
}

void Accounts::forget_rest(const ledger::Rest& rest) {
  Queued queued;
  queued.operation = ledger::VoidLien{rest.segment.key, "no market follows it any more"};
  queued.deltas.emplace_back(rest.segment.account, Delta{Money(), Money() - rest.segment.quoted});
  enqueue(std::move(queued));
}

bool Accounts::is_newly_missing(const std::string& account) {
  return !exists(account) && missing_owners_.insert(account).second;
}

}  // namespace market
