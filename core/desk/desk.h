// SPDX-License-Identifier: GPL-2.0-or-later
// Questions of people over Slurm's will-run call: JSON in, one line of JSON out. Who asks is the uid
// that Slurm authenticated. Tables for people are laid out where they are printed, not here.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/desk/inquiries.h"
#include "core/market/market.h"

namespace market {

class Desk {
 public:
  explicit Desk(Market& market)
      : site_(market.site()),
        admission_(market.admission()),
        confirmation_(market.confirmation()) {}
  /// With `observer`, of the markets that only observe, of which the same desk speaks.
  Desk(Market& market, Market& observer) : Desk(market) {
    observers_ = std::make_unique<Desk>(observer);
  }

  /// Answers `asker.query`.
  Answer answer_query(const market_submission_t& asker, Time now);
  /// What the books told of nodes and their owners.
  void answer_earnings(const Inquiry& inquiry, const Result<ledger::EarningsPage>& page);
  /// Questions that the books alone can answer.
  Inquiries& inquiries() { return inquiries_; }

 private:
  using Json = nlohmann::ordered_json;
  /// What a question about prices is about.
  struct Asked {
    Request request;
    Time deadline = 0;          ///< as it was given; 0: none
    std::string account;        ///< who would pay; "": nobody that the asker may spend from or see
    std::string account_error;  ///< why the asker may not spend from it, or none is named
    Worth worth{};              ///< of work in a recurrent class, and
    Time due = 0;               ///< by when it is due; 0: none is given
  };
  Result<Asked> read_request(const std::string& named_partition, const Json& ask,
                             const market_submission_t& asker, Time now);
  std::optional<std::string> read_class(const Json& ask, Asked& asked, Time now) const;
  Json query_classes();
  Json query_menu(const Json& ask, const market_submission_t& asker, Time now);
  Json quote_in(const std::string& named_partition, const Json& ask,
                const market_submission_t& asker, Time now);
  Json query_quote(const Json& ask, const market_submission_t& asker, Time now);
  Json quote_table(const Request& request, Time deadline, const std::string& account,
                   Time now) const;
  Json auction_quote(const Request& request, const std::string& account, Time now);
  Json query_why(const Json& ask, const market_submission_t& asker, Time now);
  Json for_each_partition(const Json& ask,
                          const std::function<Json(const std::string& partition)>& answer);
  Json query_prices(const Json& ask, Time now);
  Json prices_in(const std::string& named_partition, Time now);
  std::size_t live_bids_of(const Exchange& exchange) const;
  Json query_balance(const market_submission_t& asker);
  Json query_rebid(const Json& ask, const market_submission_t& asker, Time now);
  Json query_status(const market_submission_t& asker, Time now);
  std::string query_owners(const Json& ask, const market_submission_t& asker, Time now);
  std::string query_books(const Json& ask, const market_submission_t& asker, Time now,
                          const std::function<Result<decltype(Inquiry::question)>()>& question);
  Json query_liens(const Json& ask, const market_submission_t& asker) const;
  Json query_markets(Time now);
  Json query_plan(const market_submission_t& asker, Time now);
  Result<WantedPart> read_part(const Json& ask, const market_submission_t& asker, Time now);
  Json query_reservations(const market_submission_t& asker, Time now);
  Json query_list(const Json& ask, const market_submission_t& asker, Time now);
  Json hold_quote(const Json& ask, const market_submission_t& asker, Time now);
  std::string query_bill(const Json& ask, const market_submission_t& asker, Time now);
  Json market_in(const Exchange& exchange, Time now) const;
  void add_price_level(const Exchange& exchange, Time now, Json& market) const;
  bool share_nodes(const Partition& a, const Partition& b) const;
  void add_qos_risks(const Exchange& exchange, std::vector<std::string>& risks) const;
  void add_risks_of(const Partition& sold, std::vector<std::string>& risks) const;
  /// Settings of Slurm with which promises cannot be kept or told, for smarket check.
  std::vector<std::string> risks() const;
  std::string nodes_text() const;

  Site& site_;
  Admission& admission_;
  const Confirmation& confirmation_;
  /// The desk that speaks of a partition, or of a job, that a market only observes; else null.
  Desk* observers_of(const std::string& partition);
  Desk* observers_of_job(const std::string& name);

  Inquiries inquiries_;
  std::unique_ptr<Desk> observers_;
};

}  // namespace market
