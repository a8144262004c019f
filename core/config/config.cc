// SPDX-License-Identifier: GPL-2.0-or-later
// One file although it is long: a line for each key that has no section of its own.
#include "core/config/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/config/abacus_section.h"
#include "core/config/bank_section.h"
#include "core/config/charges_section.h"
#include "core/config/contracts_section.h"
#include "core/config/owners_section.h"
#include "core/config/reader.h"
#include "core/config/resources_section.h"
#include "core/config/tycoon_section.h"
#include "core/util/account_name.h"
#include "core/util/slurm_time.h"

namespace market {
namespace {

using config::Document;
using config::is_tres;
using config::is_virtual;
using config::is_word;
using config::read_abacus;
using config::read_bank;
using config::read_charges;
using config::read_contracts;
using config::read_owners;
using config::read_resources;
using config::read_tycoon;
using config::Section;

constexpr Time kTenYears = 3650 * kDay;
constexpr double kHighestPrice = 1e6;
constexpr double kLargestWeight = 1e6;
constexpr double kHighestFactor = 1000;
constexpr double kMostSpare = 0.99;
constexpr double kSteepestPenalty = 1;  // e^168 times as much in a week
constexpr std::size_t kLongestSeed = 256;
constexpr const char* kQos = "qos";  // Slurm takes its names without regard to case
constexpr Time kMostSlots = 100'000;

template <class Enum>
using Name = std::pair<const char*, Enum>;

constexpr std::array<Name<bool>, 2> kYesNo{{{"yes", true}, {"no", false}}};

constexpr std::array<const char*, 2> kPredictors = {"spread", "lp"};

template <class Names>
void choose(Section& section, const char* key, const Names& names, std::string& value) {
  section.text(key, value);
  if (std::find(names.begin(), names.end(), value) != names.end()) return;
  section.fault(key, fmt::format("one of {}", fmt::join(names, ", ")));
}

bool is_printable(std::string_view text, std::size_t longest) {
  return !text.empty() && text.size() <= longest &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

bool is_plain_text(std::string_view text, std::size_t longest) {
  return !text.empty() && text.size() <= longest &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

// What is wrong with it is said without saying what it is.
void read_seed(Section& root, Config& config) {
  if (!root.has("seed")) return;
  if (const auto seed = root.secret("seed"); seed && is_printable(*seed, kLongestSeed)) {
    config.seed = *seed;
  } else {
    root.fault_unsaid("seed", fmt::format("a text that nobody can guess, 1 to {} printable "
                                          "characters in double quotes",
                                          kLongestSeed));
  }
}

void read_partitions(Section& section, MarketSettings& market) {
  section.texts("partitions", market.partitions);
  for (const std::string& name : market.partitions) {
    const bool repeated = std::count(market.partitions.begin(), market.partitions.end(), name) > 1;
    if (!is_plain_text(name, 256) || repeated) {
      section.fault("partitions", "names of partitions, each once; [] means all");
    }
  }
}

// What is the same for all markets.
void read_general(Section& root, Config& config) {
  static constexpr std::array<Name<OnError>, 2> kOnError{
      {{"unbilled", OnError::kUnbilled}, {"refuse", OnError::kRefuse}}};
  static constexpr std::array<Name<Quiet>, 2> kQuiet{
      {{"none", Quiet::kNone}, {"accepted", Quiet::kAccepted}}};

  root.text("database", config.database);
  if (config.database.empty() || config.database.front() != '/') {
    root.fault("database", "the absolute path of the ledger's file, in quotes");
  }
  root.text("currency", config.currency);
  if (!is_plain_text(config.currency, 32)) root.fault("currency", "a word of at most 32 letters");
  read_seed(root, config);
  root.choice<OnError>("on_error", kOnError, config.on_error);
  root.choice<bool>("comment", kYesNo, config.bids_in_comment);
  root.choice<Quiet>("quiet", kQuiet, config.quiet);
  root.duration("refund_window", 0, kTenYears, config.refund_window);
  root.text("jobcomp", config.jobcomp);
  const bool plugin_name =
      config.jobcomp.rfind("jobcomp/", 0) == 0 && is_plain_text(config.jobcomp, 64);
  if (!config.jobcomp.empty() && (!plugin_name || config.jobcomp == "jobcomp/market")) {
    root.fault("jobcomp", "the site's own plugin, such as jobcomp/filetxt, or \"\" for none");
  }
}

void read_bids(Section& section, MarketSettings& market) {
  static constexpr std::array<Name<UnbidJobs>, 2> kUnbid{
      {{"best_effort", UnbidJobs::kBestEffort}, {"refuse", UnbidJobs::kRefuse}}};
  static constexpr std::array<Name<NoFunds>, 2> kNoFunds{
      {{"refuse", NoFunds::kRefuse}, {"wait", NoFunds::kWait}}};
  static constexpr std::array<Name<ArrayFunding>, 2> kArrays{
      {{"whole", ArrayFunding::kWhole}, {"per_task", ArrayFunding::kPerTask}}};

  static constexpr std::array<Name<MarketMode>, 2> kMode{
      {{"active", MarketMode::kActive}, {"observe", MarketMode::kObserve}}};

  read_partitions(section, market);
  section.choice<MarketMode>("mode", kMode, market.mode);
  section.choice<UnbidJobs>("unbid", kUnbid, market.unbid);
  section.choice<NoFunds>("no_funds", kNoFunds, market.no_funds);
  section.choice<ArrayFunding>("arrays", kArrays, market.arrays);
  section.integer("max_array_tasks", 1, 100'000, market.max_array_tasks);
  section.integer("priority", 1, 1'000'000'000, market.priority);
  if (section.has("bill_in_admin_comment"))
    section.choice<bool>("bill_in_admin_comment", kYesNo, market.bill_in_admin_comment.emplace());
}

void read_weights(Section& prices, MarketSettings& config) {
  if (!prices.has("weights")) return;
  config.weights.clear();
  bool any = false;
  for (Section& section : prices.groups("weights")) {
    TresWeight weight;
    section.text("tres", weight.tres);
    if (!is_tres(weight.tres) && !is_virtual(weight.tres)) {
      section.fault("tres",
                    "cpu, mem, node, gres/NAME[:TYPE] such as gres/gpu:a100, or virtual/NAME");
    }
    const bool repeated =
        std::any_of(config.weights.begin(), config.weights.end(),
                    [&weight](const TresWeight& other) { return other.tres == weight.tres; });
    if (repeated) section.fault("tres", "each TRES once");
    section.decimal("weight", kLargestWeight, weight.weight);
    if (!section.has("weight")) section.fault("weight", "billing units for each, such as \"1\"");
    section.refuse_unknown_keys();
    any = any || weight.weight > 0;
    config.weights.push_back(weight);
  }
  if (!any) prices.fault("weights", "at least one weight above 0");
}

void read_prices(Section& root, MarketSettings& config) {
  static constexpr std::array<Name<BillingRule>, 2> kRules{
      {{"sum", BillingRule::kSum}, {"max_tres", BillingRule::kMaxTres}}};
  auto prices = root.group("prices");
  if (!prices) return;
  prices->choice<BillingRule>("rule", kRules, config.billing_rule);
  prices->decimal("floor", kHighestPrice, config.floor_price);
  prices->decimal("cap", kHighestPrice, config.cap_price);
  prices->decimal("fixed", kHighestPrice, config.fixed_price);
  prices->decimal("late_penalty", kSteepestPenalty, config.late_penalty);
  if (config.cap_price < config.floor_price) {
    prices->fault("cap", fmt::format("not below floor, which is {}", config.floor_price));
  }
  read_weights(*prices, config);
  prices->refuse_unknown_keys();
}

// A list of names with what multiplies their prices; `named` is the key of the name.
void read_factors(Section& section, const char* key, const char* named, const char* allowed,
                  std::map<std::string, double, std::less<>>& factors) {
  if (!section.has(key)) return;
  factors.clear();
  for (Section& entry : section.groups(key)) {
    std::string name;
    double factor = 0;
    entry.text(named, name);
    entry.decimal("factor", kHighestFactor, factor);
    if (std::string_view(key) == kQos) name = lower_case(name);
    if (!is_plain_text(name, 256) || factors.contains(name)) entry.fault(named, allowed);
    if (!entry.has("factor") || factor <= 0)
      entry.fault("factor", fmt::format("above 0 and at most {}, such as \"1.5\"", kHighestFactor));
    entry.refuse_unknown_keys();
    factors.emplace(std::move(name), factor);
  }
}

void read_rates(Section& section, MarketSettings& market) {
  read_factors(section, "rates", "partition", "the name of a partition, each once", market.rates);
  read_factors(section, kQos, "name", "the name of a QOS, each once", market.qos);
}

void read_dva(Section& root, MarketSettings& config) {
  static constexpr std::array<Name<OverBudget>, 2> kOverBudget{
      {{"cap", OverBudget::kCap}, {"skip", OverBudget::kSkip}}};
  auto dva = root.group("dva");
  if (!dva) return;
  dva->choice<OverBudget>("over_budget", kOverBudget, config.over_budget);
  dva->decimal("ask_min", kHighestPrice, config.asks.least);
  dva->decimal("ask_max", kHighestPrice, config.asks.most);
  dva->duration("ask_every", 0, 366 * kDay, config.asks.every);
  if (config.asks.most < config.asks.least)
    dva->fault("ask_max", fmt::format("not below ask_min, which is {}", config.asks.least));
  dva->refuse_unknown_keys();
}

// `all_markets`: what of planning is the same for all markets; null in the section of one market.
void read_planning(Section& root, MarketSettings& config, Config* all_markets) {
  auto planning = root.group("planning");
  if (!planning) return;
  planning->duration("slot", 10, kDay, config.slot);
  if (kMinute % config.slot != 0 && config.slot % kMinute != 0) {
    planning->fault("slot", "a whole number of minutes, or a part of a minute such as 0:10, 0:30");
  }
  planning->duration("horizon", kMinute, 366 * kDay, config.horizon);
  if (config.horizon % config.slot != 0 || config.horizon / config.slot > kMostSlots) {
    planning->fault("horizon", fmt::format("a multiple of slot ({}), at most {} slots",
                                           format_duration(config.slot), kMostSlots));
  }
  planning->duration("start_slack", 0, kHour, config.start_slack);
  planning->duration("reservation_lead", kMinute, config.horizon, config.reservation_lead);
  if (config.reservation_lead > config.horizon) {
    planning->fault("reservation_lead",
                    fmt::format("not above horizon, which is {}", format_duration(config.horizon)));
  }
  planning->decimal("spare", kMostSpare, config.spare);
  planning->duration("auction_period", 1, kHour, config.auction_period);
  planning->duration("quote_hold", kMinute, kHour, config.quote_hold);
  if (all_markets != nullptr) {
    planning->integer("interval_ms", 100, 60'000, all_markets->interval_ms);
    planning->integer("max_reservations", 1, 10'000, all_markets->max_reservations);
  }
  planning->refuse_unknown_keys();
}

void read_predictor(Section& root, MarketSettings& config) {
  auto predictor = root.group("predictor");
  if (!predictor) return;
  choose(*predictor, "method", kPredictors, config.predictor);
  predictor->duration("cycle", kHour, 366 * kDay, config.predictor_cycle);
  predictor->duration("history", kHour, kTenYears, config.predictor_history);
  if (config.predictor_cycle % config.slot != 0) {
    predictor->fault("cycle", fmt::format("a multiple of planning.slot, which is {}",
                                          format_duration(config.slot)));
  }
  if (config.predictor_history < config.predictor_cycle) {
    predictor->fault("history", fmt::format("not below cycle, which is {}",
                                            format_duration(config.predictor_cycle)));
  }
  predictor->refuse_unknown_keys();
}

}  // namespace

double MarketSettings::weight_of(std::string_view tres) const {
  const auto find = [this](std::string_view wanted) {
    return std::find_if(weights.begin(), weights.end(),
                        [wanted](const TresWeight& weight) { return weight.tres == wanted; });
  };
  auto found = find(tres);
  if (found == weights.end()) found = find(tres.substr(0, tres.find(':')));
  return found == weights.end() ? 0 : found->weight;
}

double MarketSettings::rate_of(std::string_view partition) const {
  const auto rate = rates.find(partition);
  return rate == rates.end() ? 1 : rate->second;
}

double MarketSettings::qos_factor(std::string_view wanted) const {
  const auto factor = qos.find(wanted);
  return factor == qos.end() ? 1 : factor->second;
}

const std::vector<ContractClass>& MarketSettings::job_classes() const {
  static const std::vector<ContractClass> none;
  return mechanism == "contracts" ? contracts.classes : none;
}

const ContractClass* MarketSettings::job_class(std::string_view wanted) const {
  const auto found =
      std::find_if(job_classes().begin(), job_classes().end(),
                   [wanted](const ContractClass& one) { return one.name == wanted; });
  return found == job_classes().end() ? nullptr : &*found;
}

bool ContractClass::is_open_to(std::string_view account, std::string_view partition,
                               std::string_view with_qos) const {
  const auto holds = [](const std::vector<std::string>& names, std::string_view wanted) {
    return names.empty() || std::find(names.begin(), names.end(), wanted) != names.end();
  };
  return holds(accounts, account) && holds(partitions, partition) && holds(qos, with_qos);
}

bool MarketSettings::trades(std::string_view partition) const {
  return partitions.empty() ||
         std::find(partitions.begin(), partitions.end(), partition) != partitions.end();
}

std::vector<MarketSettings> Config::all_markets() const {
  return markets.empty() ? std::vector<MarketSettings>{*this} : markets;
}

std::vector<MarketSettings> Config::observing() const {
  std::vector<MarketSettings> some = all_markets();
  std::erase_if(some, [](const MarketSettings& market) { return !market.observes(); });
  return some;
}

namespace {

void read_market(Section& section, const std::vector<std::string>& mechanisms,
                 MarketSettings& market, Config* all_markets) {
  choose(section, "mechanism", mechanisms, market.mechanism);
  read_bids(section, market);
  read_charges(section, market);
  read_prices(section, market);
  read_rates(section, market);
  read_contracts(section, market);
  read_abacus(section, market);
  read_dva(section, market);
  read_owners(section, market);
  read_resources(section, market);
  read_planning(section, market, all_markets);
  read_tycoon(section, market);
  read_predictor(section, market);
}

// A partition sold in two markets would have two prices for the same nodes.
void refuse_shared_partitions(Section& section, const Config& config,
                              const MarketSettings& market) {
  if (market.partitions.empty())
    section.fault("partitions", "the partitions of this market, at least one");
  for (const auto& [partition, factor] : market.rates) {
    if (!market.trades(partition))
      section.fault("rates", fmt::format("partition {} is not of this market", partition));
  }
  for (const MarketSettings& other : config.markets) {
    for (const std::string& partition : market.partitions) {
      if (other.trades(partition))
        section.fault("partitions", fmt::format("partition {} is of market {}: each partition in "
                                                "one market",
                                                partition, other.name));
    }
  }
}

void read_markets(Section& root, const std::vector<std::string>& mechanisms, Config& config) {
  if (!root.has("markets")) return;
  if (!config.partitions.empty())
    root.fault("partitions", "nothing beside markets: each market names its own");
  for (Section& section : root.groups("markets")) {
    MarketSettings market = config;
    market.name.clear();
    section.text("name", market.name);
    const bool repeated =
        std::any_of(config.markets.begin(), config.markets.end(),
                    [&market](const MarketSettings& other) { return other.name == market.name; });
    if (!is_word(market.name) || repeated)
      section.fault("name", "a name of at most 32 of a-z, 0-9, _ and -, each once");
    read_market(section, mechanisms, market, nullptr);
    refuse_shared_partitions(section, config, market);
    section.refuse_unknown_keys();
    config.markets.push_back(std::move(market));
  }
  if (config.markets.empty()) root.fault("markets", "a list of at least one market in ( )");
}

}  // namespace

Result<Config> load_config(const std::string& path, const std::vector<std::string>& mechanisms) {
  Document document(path);
  if (const auto parsed = document.parse(); !parsed) return tl::make_unexpected(parsed.error());
  Config config;
  config.file = path;
  Section root(document, document.root(), "");
  read_general(root, config);
  read_bank(root, config);
  read_market(root, mechanisms, config, &config);
  read_markets(root, mechanisms, config);
  root.refuse_unknown_keys();
  if (document.first_fault()) return tl::make_unexpected(*document.first_fault());
  return config;
}

}  // namespace market
