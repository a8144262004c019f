// SPDX-License-Identifier: GPL-2.0-or-later
// The façade: verbs quote, submit, plan, update, settle over some markets (exchange.h), one node plan
// and one ledger. It speaks the plain structs of the C face, since converting a thousand jobs a second
// would cost more than planning them.
//
//   admission.cc   submit: who, what, when; accept or refuse
//   rights.cc      who may spend from an account, who may see it
//   provisional.cc what was accepted and is not yet a job
//   arrays.cc      the tasks of one bid: placed together, at most so many at a time
//   pricing.cc     the best posted (start, price) pair that also has a place
//   planner.cc     the pass: what jobs do, who moves, what Slurm is told
//   confirm.cc     the pass: bids become jobs, are found again after a crash, and change
//   promises.cc    the pass: what was told is kept when Slurm counts, changes or starts otherwise
//   risks.cc       settings of Slurm with which promises cannot be kept
//   settlement.cc  the end of a run
//   preemption.cc  runs that ended for another job
//   auction_path.cc  bids in an auction
//   rates.cc       what their runs owe while they run
//   standing.cc    which of them stand in it
//   payees.cc      owners of nodes: what their runs owe at least, and who gets it
//   books.cc       reports of the ledger's thread
//   liens.cc       liens that the books have, and the jobs they are for
//   learning.cc    what prices learn from
//   cluster.cc     nodes, partitions, capacity
//   explain.cc     reasons;  query.cc  questions;  change.cc  scontrol update, rebid
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/config/config.h"
#include "core/market/accounts.h"
#include "core/market/books_report.h"
#include "core/market/cluster.h"
#include "core/market/exchange_maker.h"
#include "core/market/note.h"
#include "core/market/orders.h"
#include "core/market/starts.h"
#include "core/market/state.h"
#include "core/mechanism/auction.h"
#include "core/mechanism/mechanism.h"
#include "core/util/log.h"
#include "core/words/slurm_view.h"

namespace market {

/// What a submission gets; the strings of market_answer_t.
struct Answer {
  market_verdict verdict = MARKET_NO_BID;
  std::string text, note, account;
  std::uint64_t ticket = 0;  ///< for submission_over(); 0: nothing was set aside
};

/// What is to be written on a job whose run ended; the strings of market_ended_t.
struct EndTexts {
  std::string note, bill;
};

class Market {
 public:
  /// `wake_books` is called when there are entries to take.
  Market(std::string cluster_name, Log log, std::function<void()> wake_books);

  /// Of the settings in force; the defaults before there are any.
  const Config& config() const { return config_; }
  /// Markets that have nodes.
  std::size_t stocked_markets() const { return stocked_markets_; }
  /// What rules for `markets` must know that are made now; what is sold from here on is kept for
  /// take_sales() until the next tell_books().
  std::vector<Stand> stands_of(const std::vector<MarketSettings>& markets);
  std::vector<Sale> take_sales();
  /// The entries for the books since the last call, in order.
  std::vector<Queued> take_entries() { return accounts_.take_entries(); }
  /// Entries that the books have not confirmed.
  std::size_t unwritten() const { return accounts_.unwritten(); }
  /// What whoever keeps the books found, and the exchanges of settings or lessons that are new;
  /// empty: those in force stay, and so do the settings. Returns what was replaced.
  Exchanges tell_books(BooksReport news, Exchanges next);

  std::uint32_t interval_ms() const { return config_.interval_ms; }
  /// Until the liens from before this start have found their jobs or returned.
  bool wants_ended_jobs() const { return accounts_.recovering(); }

  void update_cluster(const market_cluster_t& cluster, Time now);
  Answer submit(const market_submission_t& submission, Time now);
  /// The call that brought the submission has ended: its job is in Slurm's list, or never will be.
  void submission_over(std::uint64_t ticket);
  /// MARKET_NO_BID, MARKET_ACCEPTED, or MARKET_REJECTED with the reason in `text`.
  market_verdict modify(const market_change_t& change, Time now, std::string& text);
  /// Whether the next pass must know for which jobs Slurm preempts others.
  bool wants_preemptors() const { return wants_preemptors_; }
  void tell_preemptors(const market_preemptor_t* preemptors, std::size_t count);
  /// The orders live until the next pass.
  const std::vector<market_order_t>& pass(const market_job_t* jobs, std::size_t job_count,
                                          const char* const* resv_names, std::size_t resv_count,
                                          Time now);
  void order_failed(const market_order_t& order, std::string_view why, Time now);
  std::uint32_t site_factor(std::uint32_t job_id, std::string_view note);
  /// Whether Slurm's own count of the job's CPUs is still wanted.
  bool wants_count(std::uint32_t job_id, std::string_view note) const;
  /// Nothing when the job is not the market's.
  std::optional<EndTexts> job_ended(const market_job_t& job, Time now);

 private:
  struct Preemptor {  // a job that Slurm makes, or made, room for
    std::uint32_t job_id = 0, uid = 0;
    std::string account;
    Time since = 0, start = 0;
  };
  /// A start with its price and its place.
  struct Choice {
    Time start = 0;
    Money price;
    Placement placement;
    Time free_after = 0;  // as Terms::free_after
  };
  enum class Prefer { kCheapest, kEarliest, kValue };
  struct Wish {
    Prefer prefer = Prefer::kCheapest;
    const Sigmoid* value = nullptr;  // kValue
    Time bid_made = 0;               // kValue
    std::optional<Money> limit;      // no start dearer than this
    Time only_start = 0;             // a start less than a slot from this one, or none
    std::string ignore;              // key of a booking that counts as free
    StartSpans* full = nullptr;      // closed starts, kept between searches for one request
  };
  struct Found {
    std::optional<Choice> choice;
    bool capped = false;    // gave up after kMaxPlacements places
    bool for_sale = false;  // at least one start has a price within the limit
  };
  struct Bill {  // a run's end as the books and its user will see it
    const char* state = "";
    Time elapsed = 0;
    bool ran = false, late = false;
    bool own = false;      // the job's doing or its user's
    bool is_void = false;  // it never began and costs nothing: the lien returns
    Money charged, refunded;
  };
  struct Draft {  // a submission that passed all checks but price and funds
    Bid bid;
    BidTexts texts;
    std::string user;
    std::uint32_t tasks = 1, throttle = 0;
    bool set_account = false;
    bool held = false, array = false;
    Time wanted_deadline = 0;  // as the user gave it; 0: none
  };

  struct Group {  // the tasks of a draft that have a place
    std::vector<Provisional::Task> tasks;
    Money total, dearest;
    std::optional<Found> missing;  // what the next task would have got
  };
  struct Trial {  // a draft that would be accepted
    Money dearest;
    Time last_start = 0;
  };

  // admission.cc
  Answer unavailable() const;
  Answer unavailable(const char* what) const;
  Answer no_room() const;
  Answer without_bid(const market_submission_t& submission) const;
  bool refuses_unbid(std::string_view partitions) const;
  Result<Draft> check(const market_submission_t& submission, Time now) const;
  Result<const Partition*> check_partition(std::string_view names) const;
  Result<Time> check_time_limit(std::uint32_t minutes, const Partition& partition) const;
  Result<void> check_window(Request& request, Time begin, Time deadline, Time now) const;
  Time window_end(const Request& request, Time deadline, Time now) const;
  Result<std::string> check_account(std::string_view named, const market_submission_t& asker,
                                    bool& chosen) const;
  Answer decide(Draft draft, Time now);
  std::string refusal_of(const Draft& draft, const Group& group, Time now);
  Answer accept(const Draft& draft, Provisional provisional, Time now);
  std::string next_token();

  // learning.cc
  ledger::RecordBid lesson_of(const Bid& bid, Time bid_made, Time now) const;
  void teach(Job& job, Time now);
  void teach_refused(const Draft& draft, Money needed, Time now);
  bool taken_back(const Job& job, const market_job_t& ended) const;
  void unlearn(const Job& job);

  // rights.cc
  bool may_spend(std::string_view account, const market_submission_t& asker) const;
  bool may_see(std::string_view account, const market_submission_t& asker) const;
  std::vector<std::string> accounts_to_spend_from(const market_submission_t& asker) const;
  std::vector<std::string> accounts_to_see(const market_submission_t& asker) const;

  // provisional.cc
  void keep_provisional(Provisional provisional);
  void forget_provisional(const std::string& token);
  void drop_provisional(const std::string& token);
  void drop_provisionals(Time now);
  std::optional<std::string> too_many_unseen(std::uint32_t uid, Time now);

  // pricing.cc
  Found find(const Request& request, const Wish& wish, Time now) const;
  std::optional<Choice> once_more(const Request& request, const Choice& last, Time now) const;
  Wish wish_for(const Bid& bid, Time bid_made) const;
  bool affordable(const Bid& bid, Time bid_made, const Choice& choice) const;
  std::optional<Choice> earliest_place(const Request& request, Time from, Time until,
                                       const std::string& ignore,
                                       const StartSpans* closed = nullptr) const;
  std::string alternatives(const Draft& draft, Time now);
  std::optional<std::string> later_deadline(const Draft& draft, Time now);
  std::optional<std::string> shorter_limit(const Draft& draft, Time now);

  // arrays.cc
  Group place_tasks(const Draft& draft, const std::string& token, Wish wish, Time now);
  void take_back(Group& group, const Request& request, const std::string& token);
  std::optional<Trial> try_out(const Draft& draft, const Wish& wish, Time now);
  void find_throttled();
  StartSpans closed_by_sisters(const Job& job) const;
  void stretch_arrays(Time now);
  void see_throttle(Job& job, const market_job_t& seen);

  // auction_path.cc
  bool is_priced(const Bid& bid) const;
  Auction* auction_of(const Job& job) const;
  Money most_it_costs(const Bid& bid) const;
  Found entry(const Bid& bid, Time now) const;
  double worth_at(const Bid& bid, Time bid_made, Time end) const;
  Time limit_end(const Job& job, Time now) const;
  bool is_worthless(const Bid& bid, Time bid_made, Time now) const;
  void drop_worthless(const Exchange& exchange, Time now);
  enum class Who { kStanding, kAll };
  std::vector<LiveBid> live_bids(const Exchange& exchange, std::vector<Job*>* owners, Time now,
                                 Who who = Who::kStanding);
  const std::vector<NodeRoom>& node_rooms(Exchange& exchange);
  void join_auction(const Exchange& exchange, Time now);
  void hold_auction(Exchange& exchange, Time now);
  std::uint32_t job_factor(const Job& job) const;
  Money owed(const Job& job, const market_job_t& ended, const Bill& bill) const;
  std::optional<Standing> preview(const Bid& bid, double worth, Time now, bool running = false);
  Standing preview_or_alone(const Bid& bid, double worth, Time now, bool running);
  std::string entry_text(const Bid& bid, const std::string& what, Time now);
  bool rejoin(Job& job, const Request& request, Time now);
  std::optional<std::string> rebid_live(Job& job, const Worth& worth, const BidTexts& texts,
                                        Time now);
  nlohmann::ordered_json auction_quote(const Request& request, const std::string& account,
                                       Time now);
  std::string explain_auctioned(const Job& job, Time now, std::string& code) const;

  // rates.cc
  void accrue(Job& job);
  void resume(Job& job, const Note& note, Time run_start) const;
  void keep_rate(Job& job, Time now);
  void rate_unseen(Job& job, const market_job_t& ended, Time now);

  // standing.cc
  std::set<std::uint32_t> crowded_tasks() const;
  void see_who_stands(const Exchange& exchange, Time now);
  void leave_auction(Job& job);
  std::string explain_absence(const Job& job, Time now, std::string& code) const;
  void rank_the_absent(Exchange& exchange, const std::vector<Job*>& owners,
                       const std::vector<LiveBid>& bids, Time now);

  // books.cc
  void say_once(std::string& last, const std::string& what, const std::string& error);
  void say_config(const BooksReport& news);
  std::string rules_text() const;
  std::string settings_in_force(Time now) const;
  void take_results(BooksReport& news);
  void compare_liens(std::vector<ledger::OpenLien> liens);
  void set_lien(Job& job, Money amount);
  /// Before the first pass nobody knows what runs and what was promised before a restart.
  bool ready() const {
    return has_config_ && books_usable_ && cluster_.is_known() && pass_number_ > 0;
  }
  /// Whether a market takes bids in the partition.
  bool trades(std::string_view partition) const;
  /// The market of a partition; the first one for a partition that is in none any more.
  Exchange& exchange_of(std::string_view partition) const;
  Exchange& exchange_of(const Request& request) const { return exchange_of(request.partition); }
  Exchange& exchange_of(const Job& job) const { return exchange_of(job.bid.request); }
  void forget_rooms();

  nlohmann::ordered_json query_liens(const nlohmann::ordered_json& ask,
                                     const market_submission_t& asker) const;

  // cluster.cc
  void move_runs();
  void find_shared_nodes();
  void update_capacity(Time now);
  Result<Demand> demand_for(const SizeOptions& size, const std::string& partition) const;

  // planner.cc
  void see(const market_job_t& job, Time now);
  void see_array(const market_job_t& seen, Time now);
  void see_pending(Job& job, const market_job_t& seen, Time now);
  void see_running(Job& job, const market_job_t& seen, Time now);
  void drop_unseen(Time now);
  void check_reservations(const char* const* names, std::size_t count);
  void yield_places(Time now);
  void replan_lost(Time now);
  void replan_missed(Job& job, Time from, Time now);
  void fund_waiting(Time now);
  void pull_forward(Time now);
  void give_orders(Job& job, const market_job_t& seen, Time now);
  void give_place_orders(Job& job, Time now);
  void place(Job& job, Choice choice);
  void unplace(Job& job, Time from);
  void unreserve(Job& job);
  void reserve(Job& job, Time now);
  void hold(Job& job, Cause cause, Money needed, Time now);
  std::uint32_t factor(const MarketSettings& settings, const Terms& terms, bool waiting) const;
  std::vector<Job*> in_order(Phase phase);

  // confirm.cc
  Job* welcome(const market_job_t& seen, Time now);
  void take_task(Job& job, Provisional& provisional);
  void confirm(Job& job, Provisional& provisional, const market_job_t& seen, Time now);
  bool same_price_basis(const Request& a, const Request& b) const;
  void adopt(Job& job, const Note& note, const market_job_t& seen, Time now);
  void recall(Job& job, const Note& note, const market_job_t& seen);
  void place_adopted(Time now);
  void new_run(Job& job, const market_job_t& seen, Time now);
  void changed(Job& job, const market_job_t& seen, Time now);
  Result<Request> request_of(const market_job_t& seen, const Request& before, bool new_shape) const;
  void buy_running(Job& job, const market_job_t& seen, Time now);
  bool renegotiate(Job& job, const Request& request, Time keep_start, Time now);
  void resettle_old_runs(const Job& job, const Note& note, const market_job_t& seen, Time now);
  void end_by_requeue(Job& job, const market_job_t& seen, Time start, Time end, Time now);
  void forget_run(Job& job);
  void begin_again(Job& job, const market_job_t& seen, Time now);
  std::string note_of(const Job& job) const;

  // promises.cc
  void note_change(const market_change_t& change, Time now);
  bool changed_early(const Job& job) const;
  bool needs_more(const Request& sold, Time start, const market_job_t& seen) const;
  void settle_terms(Job& job, const market_job_t& seen, Time now);
  void keep_told(const Job& job, Found& found, Time now) const;
  void hear_count(Job& job, const market_job_t& seen, std::uint32_t cpus, std::uint32_t nodes,
                  Time now);
  void note_undersold(const Job& job, std::int64_t sold);
  void raise_to_count(const Job& job, Request& request, std::uint32_t tasks) const;
  bool move_at_told_price(Job& job, const Request& request, Time now);
  void give_up_start(Job& job, std::string_view why, Time now);
  Time patience(const Job& job) const;
  void give_up_late_start(Job& job, Time now);

  // risks.cc
  bool share_nodes(const Partition& a, const Partition& b) const;
  void add_risks_of(const Partition& sold, std::vector<std::string>& risks) const;
  std::vector<std::string> risks() const;

  // settlement.cc
  std::optional<std::string> end_run(const market_job_t& ended, Time now);
  std::string wanted_bill(std::string_view partition, std::string_view settled_note) const;
  void see_ended(const market_job_t& ended, Time now);
  Job* job_of_ended(const market_job_t& ended, Time now);
  Bill bill_of(Job& job, const market_job_t& ended, Time now);
  void post_bill(Job& job, const market_job_t& ended, const Bill& bill, Time now);
  void settle(Job& job, const market_job_t& ended, Time now);

  // payees.cc
  std::vector<Tres> held_parts(const Job& job, const Placement& placement) const;
  std::vector<double> asked_rates(const Job& job, const Placement& placement) const;
  bool on_awarded_nodes(const Job& job, const Placement& placement) const;
  void raise_to_asks(Job& job, const Placement& placement, Time limit_end);
  void meet_asks(Job& job, const Placement& placement, Time limit_end);
  std::vector<ledger::Payee> payees_of(const Job& job, const market_job_t& ended, const Bill& bill);
  std::vector<double> node_weights(const Job& job, const Placement& placement) const;

  // preemption.cc
  bool await_preemptor(Job& job, const market_job_t& ended);
  void judge_preemptions(const market_job_t* jobs, std::size_t count, Time now);
  bool is_for_own(const Job& job, const market_job_t* jobs, std::size_t count) const;
  void settle_preempted(Job& job, bool for_own, Time now);
  void see_own_suspensions(const market_job_t* jobs, std::size_t count);

  // change.cc
  std::optional<std::string> check_unbid_change(const market_change_t& change) const;
  std::optional<std::string> try_change(Job& job, const market_change_t& change, Time now);
  std::optional<std::string> rebid(Job& job, const Worth& worth, const BidTexts& texts, Time now);

  // explain.cc
  Answer answer_query(const market_submission_t& submission, Time now);
  nlohmann::ordered_json query_quote(const nlohmann::ordered_json& ask,
                                     const market_submission_t& asker, Time now);
  nlohmann::ordered_json query_why(const nlohmann::ordered_json& ask,
                                   const market_submission_t& asker, Time now);
  nlohmann::ordered_json query_prices(const nlohmann::ordered_json& ask, Time now);
  nlohmann::ordered_json query_balance(const market_submission_t& asker);
  nlohmann::ordered_json query_rebid(const nlohmann::ordered_json& ask,
                                     const market_submission_t& asker, Time now);
  nlohmann::ordered_json query_status(const market_submission_t& asker, Time now);
  void add_price_level(const Exchange& exchange, Time now, nlohmann::ordered_json& market) const;
  nlohmann::ordered_json query_markets(Time now) const;
  Job* find_job(std::string_view name);
  const char* reason_of(const Job& job) const;
  std::string explain(const Job& job, Time now, std::string& code) const;
  std::string who_holds_liens(const std::string& account) const;
  double billing_of(const Request& request) const {
    return billing_of(exchange_of(request).settings, request.demand.tres);
  }
  double billing_of(const MarketSettings& settings, const Tres& tres) const;
  nlohmann::ordered_json quote_table(const Request& request, Time deadline,
                                     const std::string& account, Time now) const;

  std::string cluster_name_;
  Log log_;
  bool wants_preemptors_ = false;
  std::size_t stocked_markets_ = 0;
  std::set<std::string, std::less<>> sold_tres_;  ///< names of the TRES for sale

  Config config_;
  bool has_config_ = false, books_usable_ = false;
  std::string config_error_, ledger_error_;  // as said in the log
  Time config_read_ = 0;
  /// As market.conf lists them; before it was read one of the defaults, which sells nothing.
  Exchanges exchanges_;

  Accounts accounts_;
  Cluster cluster_;

  std::unordered_map<std::uint32_t, Job> jobs_;
  std::unordered_map<std::string, Provisional> provisionals_;
  std::size_t provisional_tasks_ = 0;
  Time refused_hour_ = 0;  // of the refused bids below, each uid's largest, credits
  std::unordered_map<std::uint32_t, double> largest_refused_;
  std::unordered_map<std::uint64_t, std::string> tickets_;  // to the tokens of provisionals_
  std::unordered_map<std::uint32_t, UnseenBids> unseen_;    // by uid
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> throttled_;  // jobs by array
  std::set<std::uint32_t> changed_arrays_;                 // by their owners since the last pass
  std::set<std::uint32_t> limited_by_owner_;               // of these, whose limit is lower now
  std::unordered_map<std::uint32_t, Time> early_changes_;  // by owners, before the job was seen
  std::size_t undersold_jobs_ = 0;     // Slurm takes more CPUs than were sold, since this start
  std::uint32_t undersold_array_ = 0;  // the last one of them that was an array
  std::string last_undersold_;         // said in the log and to smarket check
  std::vector<Preemptor> preemptors_;  // told for the coming pass
  bool in_pass_ = false;
  std::uint64_t pass_number_ = 0, tokens_ = 0, token_seed_ = 0;
  Time last_pass_ = 0;
  Time ledger_gone_at_ = 0;  // its file was deleted, moved or replaced while it was open
  std::uint64_t pull_freed_ = 0;
  Time pull_at_ = 0;
  std::size_t pull_cursor_ = 0;
  Orders orders_;
  double last_pass_ms_ = 0;
};

}  // namespace market
