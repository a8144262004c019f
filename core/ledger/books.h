// SPDX-License-Identifier: GPL-2.0-or-later
// Rows of the ledger: accounts, transfers and segments, with the rules that hold for each change.
// Private to the ledger; every function runs inside the caller's transaction and throws Failure
// when the database fails or a rule refuses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/ledger/ledger.h"
#include "core/ledger/schema.h"
#include "core/ledger/sqlite.h"
#include "core/util/account_name.h"

namespace market::ledger {

struct AccountRow {
  std::int64_t id = 0;
  std::string name;
  Money posted, liens;
  Money available() const { return posted - liens; }
};

std::optional<AccountRow> find_account(Database& database, std::string_view name);
AccountRow account_by_id(Database& database, std::int64_t id);
/// As find_account, but an unknown name is a Failure that says so.
AccountRow require_account(Database& database, std::string_view name);

enum class Kind { kDeposit, kWithdraw, kTransfer, kLien, kCharge, kVoid, kRefund };
std::string_view kind_name(Kind kind);

/// A transfer about to be written: `amount` leaves `debit` and reaches `credit`. Liens and voids
/// move nothing yet.
struct Transfer {
  std::string key;  ///< empty: a deposit, withdrawal or transfer, numbered by its row
  Time time = 0;
  Kind kind = Kind::kTransfer;
  std::int64_t debit = 0, credit = 0;  ///< account ids
  Money amount;
  std::optional<std::int64_t> resolves;  ///< the lien's row
  std::optional<std::int64_t> segment;
  std::string note;
};

/// Writes the transfer and the balances it changes; returns its row. Refuses what would leave the
/// range of Money.
std::int64_t post(Database& database, const Transfer& transfer);
/// Whether `amount` can leave `debit` and reach `credit` without leaving the range of Money.
bool fits(Database& database, std::int64_t debit, std::int64_t credit, Money amount);

struct OpenLienRow {
  std::int64_t id = 0;
  std::int64_t account = 0;
  Money amount;
};

struct SegmentRow {
  std::int64_t id = 0;
  Segment segment;
  bool settled = false;
  std::optional<OpenLienRow> lien;
};

/// The run, also where the books have it from before bids were kept; its own key is in the row.
std::optional<SegmentRow> find_segment(Database& database, const SegmentKey& key);
/// Reads a segment from a row of `SELECT <segment_columns()> FROM segment`.
Segment read_segment(const Statement& row);
std::string segment_columns();
/// How many columns that is.
int segment_column_count();
/// Binds a segment to as many marks, in that order.
void bind_segment(Statement& statement, const Segment& segment);
/// Inserts the segment or fills in what it says newly (0 and empty mean not known); returns its
/// row.
std::int64_t store_segment(Database& database, const Segment& segment,
                           const std::optional<SegmentRow>& known);
/// How many transfers of `kind` the segment has.
std::int64_t count_transfers(Database& database, std::int64_t segment, Kind kind);

/// TRES as "cpu=4,mem=4096" and back.
std::string encode_tres(const Tres& tres);
Tres decode_tres(std::string_view text);

/// What all payees together are to get; nothing when one of them is to get less than nothing.
std::optional<Money> total_of(const std::vector<Payee>& payees);
/// Pays the owners of the nodes a run ran on out of revenue: one transfer for each account, keyed
/// by the run. Accounts that do not exist or are full get nothing: it stays revenue.
void pay_owners(Database& database, const SegmentKey& key, const std::vector<Payee>& payees,
                Time now);
/// Keeps what the run in row `segment` brought each of its nodes; what it brought none stays out.
void keep_node_incomes(Database& database, std::int64_t segment, const Segment& run,
                       const std::vector<NodeIncome>& nodes);
/// Takes back, for the run's refund `number` of `amount` out of `left` that was charged and not yet
/// refunded, the same part of what each owner still has of the run; exactly all when amount = left.
void take_back(Database& database, const SegmentKey& key, std::int64_t number, Money amount,
               Money left, Time now);

/// RUN:what, or RUN:what.NUMBER from the second on.
std::string numbered_key(const SegmentKey& key, std::string_view what, std::int64_t number);

/// What the market does (core/ledger/ledger.h).
Outcome apply_one(Database& database, const Operation& operation, Time now);
/// Refund by an administrator (Ledger::refund).
struct RefundRequest {
  std::string cluster;
  std::uint32_t job_id = 0;
  Time submitted = 0;
  Money amount;
  Time window = 0;
  bool force = false;
  std::string note;
};
Submission refund_job(Database& database, const RefundRequest& request, Time now);
/// Ledger::submissions.
std::vector<Submission> read_submissions(Database& database, const std::string& cluster,
                                         std::uint32_t job_id);

/// What owners of nodes ask (PostAsk, Ledger::asks, Ledger::earnings).
Outcome post_ask(Database& database, const PostAsk& operation, Time now);
std::vector<PostedAsk> read_asks(Database& database, const std::string& cluster);
EarningsPage read_earnings(Database& database, const EarningsQuestion& question);

/// Pots of users at hosts (ChangePots, Ledger::pots, Settle::pots).
Outcome change_pots(Database& database, const ChangePots& operation, Time now);
Outcome send_credits(Database& database, const SendCredits& operation, Time now);
/// Ledger::requests.
std::vector<WrittenRequest> read_requests(Database& database, const std::string& cluster,
                                          Time since);
std::vector<PotInfo> read_pots(Database& database);
/// Whether an account of that name is a pot, or would be.
bool is_pot_name(std::string_view name);
/// The pot of that name, made if there is none yet.
AccountRow open_pot(Database& database, const std::string& name, Time now);
/// Moves what other pots pay of a run to the account that is charged for it.
void pool_pots(Database& database, const SegmentKey& key, std::int64_t payer,
               const std::vector<Payee>& pots, Time now);

/// What demand prediction learns from (RecordBid, ForgetBid, Ledger::past_bids).
Outcome record_bid(Database& database, const RecordBid& record);
Outcome forget_bid(Database& database, const ForgetBid& operation);
std::vector<PastBid> read_past_bids(Database& database, const std::string& cluster, Time since,
                                    Time until);

/// What utilities are learned from (RecordUtility, ForgetUtility).
Outcome record_utility(Database& database, const RecordUtility& record);
Outcome forget_utility(Database& database, const ForgetUtility& operation);

/// The row of the time during which the market observes; nothing: it does not, or not any more.
std::optional<std::int64_t> open_observation(Database& database, const std::string& cluster,
                                             const std::string& market);
/// What a market that observes would have done (ObserveRun, Ledger::observe).
Outcome observe_run(Database& database, const ObserveRun& operation);

/// What is bought and not used (OfferRest, CountSale, Ledger::open_rests).
Outcome keep_rest(Database& database, const Rest& rest);
Outcome keep_sale(Database& database, const CountSale& operation, std::size_t part);
bool is_counted(Database& database, const std::string& sale);
OpenRests read_open_rests(Database& database, const std::string& cluster);

/// Recomputes the books from the transfers (Ledger::check).
CheckReport check_books(Database& database);

}  // namespace market::ledger
