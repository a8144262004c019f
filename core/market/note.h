// SPDX-License-Identifier: GPL-2.0-or-later
// The market's word on a job: small JSON that travels with it as its note (docs/note-format.md).
//   accepted
//   {"market":{"token":"…","account":"physics","price":"38.90","start":T,"end":T,"rule":"era/1","budget":"40"}}
//   held until it is awarded nodes   the same with "kept_back":true; awarded: "wish_nodes":"","wish_max":0
//   malleable: "workload":"cpu:16:00","malleable":"cpu:1-16"; awarded: "wish_size":"TASKS:CPUS:MINUTES:MB"; since it ran
//   "sized":"8 CPUs …" instead
//   running   the same with "run_start":T, in an auction also "ran":S,"accrued":C,"rate":R,"pays":"n1=R:R:4"[,"awarded":true]
//   of a list that is not whole  "list":"NAME:PARTS:UNTIL[:held]"; a place  "place":"ACCOUNTS"[,"lost":S]
//   waiting   the same with "waiting":true
//   ended     the bid too, since the job may be sent into the queue again
//   {"market":{"token":"…","account":"physics","charged":"38.90","quoted":"38.90","refunded":"0.00",
//              "rule":"era/1","restart":0,"start":T,"end":T,"submitted":T,"budget":"40"}}
//   ended by Slurm or an operator   the same with "keeps_price":true
//   of a market that only observes  each of these with "observed":true before all else, also
//   "refused":true where the bid would have been refused; then its price is 0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/market/job.h"
#include "core/market/node_wish.h"
#include "core/valuation/ex_post.h"
#include "core/words/bid.h"

namespace market {

struct Note {
  bool observed = false;  ///< by a market that only observes: the job is Slurm's alone
  bool refused = false;   ///< by it, it would have been
  std::string token, account, rule;
  Money price;                    ///< accepted: the price; ended: what was quoted
  Time start = 0;                 ///< planned start
  Time end = 0;                   ///< promised completion
  std::string markup;             ///< what multiplied the posted price, for people
  std::optional<ExPost> ex_post;  ///< what a run that starts late owes of the price
  Time submitted = 0;             ///< when the bid was made; a sigmoid counts from here
  std::string seats;   ///< the planned place, when it is short enough to be kept; see seats.h
  Time run_start = 0;  ///< of the run that goes on, else 0; the next four are of this run
  Time ran = 0;        ///< seconds for which it owes `accrued`
  double accrued = 0;  ///< credits
  std::optional<double> rate;  ///< in an auction: credits per second since then
  bool awarded = false;        ///< it runs where the auction awarded it nodes
  std::string pays;            ///< what the owners of its nodes get: pays_text()
  bool waiting = false;
  bool kept_back = false;        ///< held by the market until nodes are awarded to it
  std::optional<NodeWish> wish;  ///< its owner's, while Slurm's record names an award instead
  bool settled = false;          ///< the run ended: `charged` and `refunded` hold
  bool keeps_price = false;      ///< ended by Slurm or an operator: a rerun costs what this run did
  std::uint32_t restart = 0;     ///< which run that was
  std::string budget, rate_text, value;  ///< the bid as it was typed; one of them is there
  std::string quote;                     ///< the row of a menu of which `budget` is the price
  std::string workload, malleable;       ///< of a job whose size the market has not decided yet
  std::string sized;                     ///< the size it gave, for people
  std::string job_class;                 ///< of contracts
  std::string work;                      ///< units of a recurrent job that `budget` is for
  std::string utility;                   ///< of abacus
  std::optional<Money> budget_of_all;    ///< of a component: for all; `budget` is its part
  std::string array_budget;              ///< of an array that is one bid; `budget` of its tasks
  std::uint32_t array_tasks = 0, array_returned = 0, array_lost = 0;  ///< as in ArrayBid
  std::uint32_t array_limit = 0;
  std::uint32_t array_parted = 0;  ///< of a block
  Time array_start = 0;            ///< first_start, of ArrayPart too
  std::string block;               ///< of an array's record: block_text()
  std::uint32_t part_of = 0;       ///< ArrayPart::array
  bool part_owed = false;
  bool has_level = false;            ///< its deadline is a service level
  Time accepted = 0, bought = 0;     ///< as in Terms; 0: in an auction
  std::optional<ListPart> list;      ///< while the others of its list are no jobs yet
  std::optional<Reserved> reserved;  ///< it stands for a place
  bool missed = false;               ///< not ready at its start: its place was given back
  Money rest;                        ///< ended: waits for its resale, until `rest_until`
  Time rest_until = 0;
  Money charged, refunded;
  std::string pot;       ///< from which a job without a bid pays
  bool stopped = false;  ///< the market suspended its run
  std::string goods;     ///< what its run pays for each good: goods_text()
};

/// Whether a text is a note of the market. Cheap: looks at the first bytes only.
bool is_note(std::string_view text);

/// Whether it is one of a market that only observes. Cheap: looks at the first bytes only.
bool is_observed_note(std::string_view text);

/// Whether it says that a market which only observes would have refused the bid. Cheap, too.
bool is_observed_refusal(std::string_view text);

std::string write_note(const Note& note);

/// What the run cost, as sacct shows it in AdminComment: {"market":{"account":…,"charged":…,…}} in
/// fewer than `size` bytes, without the bid. "" when the run has not ended; of what does not fit
/// the times go first.
std::string bill_text(const Note& settled, std::size_t size);

/// Nothing when the text is not the market's or is damaged.
std::optional<Note> read_note(std::string_view text);

/// The worth written in a bid's texts, exactly one given. Fails with the option, the text as far as
/// it is printable, and what is allowed. The budget of a rate is for an hour until fit_budget().
Result<Worth> parse_worth(const BidTexts& texts);

/// What a run pays for each good, as it stands in a note: "cpu=0.02:0.01:3.5,…", credits per second,
/// of that never less than, credits so far.
std::string goods_text(const std::vector<GoodRate>& goods);
/// Back; empty when the text is damaged.
std::vector<GoodRate> goods_from(std::string_view text);

/// What the owners of a run's nodes get, as it stands in a note: "n1=0.02:0.01:4,…", credits per
/// second, of that its own ask, CPUs.
std::string pays_text(const std::vector<NodePay>& pays);
/// Back; empty when the text is damaged.
std::vector<NodePay> pays_from(std::string_view text);

}  // namespace market
