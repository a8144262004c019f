// SPDX-License-Identifier: GPL-2.0-or-later
// The ledger's operations on maps: the books of a simulation. Same rules and same answers as
// core/ledger, without its file, its history of transfers and its refunds by hand.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ledger/ledger.h"
#include "core/sim/books.h"

namespace market::sim {

class MemoryBooks : public Books {
 public:
  /// `settled` is told each run that was settled, with all that the books know of it; they keep of
  /// it only what they need to know it again.
  explicit MemoryBooks(std::function<void(const ledger::Segment&)> settled = {});

  // As Ledger's.
  Result<void> add_account(const std::string& name);
  Result<void> deposit(const std::string& account, Money amount);
  std::vector<ledger::Outcome> apply(const std::vector<ledger::Operation>& operations,
                                     Time now) override;
  /// Without notes and members, which these books do not keep; in the order of their names.
  std::vector<ledger::AccountInfo> accounts() const override;
  std::vector<ledger::AccountInfo> take_changed_accounts() override;
  std::vector<ledger::OpenLien> open_liens(const std::string& cluster) const;
  std::map<std::string, Money> observed_sums() const override { return observed_; }
  std::vector<PastBid> past_bids(const std::string& cluster, Time since, Time until) const override;

  void forget_bids(Time time) override;
  ledger::Balance balance(const std::string& account) const;
  /// Of all accounts with the system's two: what is in them (must be 0) and what is set aside.
  Money sum() const;
  Money liens() const;
  Money revenue() const { return accounts_[kRevenue].posted; }

 private:
  using AccountIndex = std::uint32_t;
  static constexpr AccountIndex kTreasury = 0, kRevenue = 1;
  enum class Status : unsigned char { kOpen, kVoided, kSettled };

  struct Account {
    std::string name;
    Money posted, liens;
  };
  struct Lien {
    AccountIndex account = 0;
    Money amount;
  };
  struct Run {
    Status status = Status::kOpen;
    std::optional<Lien> lien;
    Money charged;
    Time end = 0;
    /// All that is known of it, until it was settled for more than nothing.
    std::unique_ptr<ledger::Segment> details;
  };
  struct KeptBid {
    PastBid bid;
    std::string cluster, account;
    bool accepted = false;
  };

  std::optional<AccountIndex> find_account(const std::string& name) const;
  Run* find_run(const ledger::SegmentKey& key);
  bool fits(AccountIndex debit, AccountIndex credit, Money amount) const;
  void move(AccountIndex debit, AccountIndex credit, Money amount);
  void change_liens(AccountIndex account, Money by);
  void drop_lien(Run& run);
  ledger::AccountInfo info_of(AccountIndex account) const;
  ledger::Outcome set_lien(const ledger::Segment& segment);
  ledger::Outcome count_sale(const ledger::CountSale& sale);
  ledger::Outcome settle(const ledger::Settle& settle, Time now);
  ledger::Outcome void_lien(const ledger::VoidLien& operation, Time now);
  ledger::Outcome record(const ledger::RecordBid& record);
  ledger::Outcome observe(const ledger::ObserveRun& run);
  ledger::Outcome store_bid(const ledger::RecordBid& record, const std::string& id);
  ledger::Outcome forget(const ledger::ForgetBid& operation);
  double refused_that_day(const ledger::RecordBid& record, const std::string& id) const;
  void pay_owners(const std::vector<ledger::Payee>& payees);

  std::function<void(const ledger::Segment&)> settled_;
  std::vector<Account> accounts_;
  std::map<std::string, AccountIndex> account_names_;
  std::set<AccountIndex> changed_;             // since take_changed_accounts()
  std::unordered_map<std::string, Run> runs_;  // by SegmentKey::text()
  std::map<std::string, KeptBid> bids_;        // by id
  std::set<std::pair<Time, std::string_view>> bids_by_time_;
  std::set<std::string> observed_runs_;    // by SegmentKey::text()
  std::map<std::string, Money> observed_;  // by account
};

}  // namespace market::sim
