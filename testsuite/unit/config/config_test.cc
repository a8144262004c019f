// SPDX-License-Identifier: GPL-2.0-or-later
// market.conf: the example loads as it is, and each kind of fault is one line with its place.
// One file although it is long: a table of faults for each part of market.conf.
#include "core/config/config.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "core/mechanism/table.h"

namespace market {
namespace {

/// A file in a folder of its own that goes with the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    folder_ = testing::TempDir() + "market-config-XXXXXX";
    if (mkdtemp(folder_.data()) == nullptr) std::abort();
    std::ofstream(path(), std::ios::binary) << text;
  }
  ~TemporaryFile() {
    std::remove(path().c_str());
    rmdir(folder_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path() const { return folder_ + "/market.conf"; }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

constexpr const char* kDatabase = "database = \"/var/lib/ledger.db\";\n";

Result<Config> load(const std::string& more) {
  const TemporaryFile file(kDatabase + more);
  return load_config(file.path(), mechanism_names());
}

/// What is wrong with the file, without its path: "LINE: KEY: VALUE: …".
std::string fault_of(const std::string& text) {
  const TemporaryFile file(text);
  const auto config = load_config(file.path(), mechanism_names());
  if (config) return "";
  const std::string prefix = file.path() + ":";
  EXPECT_EQ(config.error().text.rfind(prefix, 0), 0u) << config.error().text;
  EXPECT_EQ(config.error().text.find('\n'), std::string::npos);
  return config.error().text.substr(std::min(prefix.size(), config.error().text.size()));
}

void expect_fault(const std::string& more, const std::string& start) {
  const std::string fault = fault_of(kDatabase + more);
  EXPECT_EQ(fault.rfind(start, 0), 0u) << more << "\n  gives: " << fault << "\n  not: " << start;
  EXPECT_GT(fault.size(), start.size()) << "says what is allowed";
}

TEST(Config, TheExampleLoadsAndMeansWhatItSays) {
  const auto config = load_config(MARKET_EXAMPLE_CONF, mechanism_names());
  ASSERT_TRUE(config) << config.error().text;
  EXPECT_EQ(config->file, MARKET_EXAMPLE_CONF);
  EXPECT_EQ(config->database, "/var/lib/slurm-market/ledger.db");
  EXPECT_EQ(config->mechanism, "era");
  EXPECT_EQ(config->partitions, std::vector<std::string>{"main"});
  EXPECT_EQ(config->charge_basis, ChargeBasis::kResale);
  EXPECT_EQ(config->cancel_grace, 300);
  EXPECT_EQ(config->taken_back(), EndRule::kCharge);
  EXPECT_EQ(config->ends.late, EndRule::kRefund);
  EXPECT_EQ(config->ends.node_fail, EndRule::kFree);
  EXPECT_EQ(config->refund_window, 14 * 86400);
  EXPECT_DOUBLE_EQ(config->floor_price, 0.10);
  EXPECT_DOUBLE_EQ(config->cap_price, 0.60);
  ASSERT_EQ(config->weights.size(), 3u);
  EXPECT_DOUBLE_EQ(config->weight_of("mem"), 0.25);
  EXPECT_EQ(config->slot, 60);
  EXPECT_EQ(config->horizon, 604800);
  EXPECT_EQ(config->reservation_lead, 86400);
  EXPECT_EQ(config->interval_ms, 1000u);
  EXPECT_EQ(config->predictor, "spread");
  EXPECT_EQ(config->predictor_history, 28 * 86400);
}

TEST(Config, DefaultsAreThoseOfTheStruct) {
  const auto config = load("");
  ASSERT_TRUE(config) << config.error().text;
  const Config defaults;
  EXPECT_EQ(config->mechanism, defaults.mechanism);
  EXPECT_EQ(config->slot, defaults.slot);
  EXPECT_FALSE(config->bids_in_comment);
  EXPECT_EQ(config->quiet, Quiet::kNone);
  EXPECT_EQ(config->mode, MarketMode::kActive);
  EXPECT_EQ(config->cap_price, defaults.cap_price);
  EXPECT_TRUE(config->partitions.empty());
}

// Faults go into slurmctld's log; whoever reads the seed there knows every draw to come.
TEST(Config, TheSeedIsNeverSaid) {
  for (const char* wrong :
       {"seed = 7755331;", "seed = 77553317755331;", "seed = [ \"7755331\" ];",
        "seed = \"7755331\\n\";", "Seed = \"7755331\";", "seeds = 7755331;", "seed = \"\";"}) {
    const std::string fault = fault_of(std::string(kDatabase) + wrong);
    EXPECT_NE(fault, "") << wrong;
    EXPECT_EQ(fault.find("7755331"), std::string::npos) << fault;
  }
  expect_fault("seed = 7755331;", "2: seed: (not shown): a text that nobody can guess");
  expect_fault("contracts = { floor = \"paper\"; };", "2: contracts.floor: paper: one of site");
  const auto expect_class_fault = [](const std::string& one, const std::string& start) {
    expect_fault("contracts = { classes = ( { " + one + " } ); };", start);
  };
  expect_class_fault("name = \"Urgent\"; shape = \"sigmoid\";",
                     "2: contracts.classes[0].name: Urgent: a name of");
  expect_class_fault("name = \"a\";",
                     "2: contracts.classes[0].shape: not given: one of hard_deadline");
  expect_class_fault("name = \"a\"; shape = \"cliff\";",
                     "2: contracts.classes[0].shape: cliff: one of");
  expect_class_fault("name = \"a\"; shape = \"sigmoid\"; value = \"3\";",
                     "2: contracts.classes[0].value: 3: only with shape");
  expect_class_fault("name = \"a\"; shape = \"recurrent\"; value = \"3\";",
                     "2: contracts.classes[0].seconds_per_work: not given: seconds");
  expect_class_fault("name = \"a\"; shape = \"sigmoid\"; }, { name = \"a\"; shape = \"sigmoid\";",
                     "2: contracts.classes[1].name: a: a name of");
}

TEST(Config, EveryKeyIsRead) {
  const auto config = load(R"(
mechanism = "on_demand"; seed = "a secret"; contracts = { floor = "none"; pairs = 20; rows = 5; epoch = "0:30:00"; minimum = 7; classes = ( { name = "urgent"; shape = "hard_deadline"; accounts = ["Physics"]; qos = ["High"]; partitions = ["main"]; }, { name = "nightly"; shape = "recurrent"; value = "0.8"; seconds_per_work = "0.5"; unit = "GB"; } ); }; currency = "SU"; partitions = []; unbid = "refuse"; on_error = "unbilled"; comment = "yes"; quiet = "accepted"; mode = "observe";
no_funds = "wait"; arrays = "per_task"; max_array_tasks = 5; priority = 77L; bill_in_admin_comment = "no"; jobcomp = "jobcomp/filetxt";
charge = "used"; refund_window = "1-0";
ends = { own = "refund"; cancelled_before_start = "charge"; cancelled_by_operator = "charge"; node_fail = "charge";
  boot_fail = "charge"; preempted = "charge"; deadline = "charge"; late = "free"; };
prices = { rule = "max_tres"; floor = "0"; cap = "2.5"; fixed = ".75"; late_penalty = "0.05";
  weights = ( { tres = "gres/gpu:a100"; weight = "60"; }, { tres = "gres/gpu"; weight = "8"; } ); };
planning = { slot = "0:30"; horizon = "1-0"; start_slack = "0"; reservation_lead = "2:00:00"; spare = "0.25"; interval_ms = 250; quote_hold = "0:02:00"; };
predictor = { method = "lp"; cycle = "1-0"; history = "2-0"; };
virtual_resources = ( { tres = "virtual/rack"; amount = "2.5"; } );
configurations = ( { name = "gpu"; formal = ( { tres = "gres/gpu"; amount = "2"; } );
  actual = ( { tres = "gres/gpu"; amount = "2"; }, { tres = "mem"; amount = "0.5"; },
             { tres = "virtual/rack"; amount = "0.25"; } ); } );
)");
  ASSERT_TRUE(config) << config.error().text;
  EXPECT_EQ(config->mechanism, "on_demand");
  EXPECT_EQ(config->seed, "a secret");
  EXPECT_EQ(config->contracts.floor, ContractFloor::kNone);
  EXPECT_EQ(config->contracts.pairs, 20u);
  EXPECT_EQ(config->contracts.rows, 5u);
  EXPECT_EQ(config->contracts.epoch, 1800);
  EXPECT_EQ(config->contracts.minimum, 7u);
  ASSERT_EQ(config->contracts.classes.size(), 2u);
  const ContractClass& urgent = config->contracts.classes[0];
  EXPECT_EQ(urgent.name, "urgent");
  EXPECT_TRUE(urgent.is_open_to("physics", "main", "high"));
  EXPECT_FALSE(urgent.is_open_to("biology", "main", "high"));
  EXPECT_FALSE(urgent.is_open_to("physics", "gpu", "high"));
  EXPECT_FALSE(urgent.is_open_to("physics", "main", ""));
  const ContractClass& nightly = config->contracts.classes[1];
  EXPECT_TRUE(nightly.is_recurrent() && nightly.is_open_to("any", "where", ""));
  EXPECT_EQ(nightly.value, 0.8);
  EXPECT_EQ(nightly.seconds_per_work, 0.5);
  EXPECT_EQ(nightly.unit, "GB");
  EXPECT_EQ(config->quote_hold, 120);
  EXPECT_EQ(config->currency, "SU");
  EXPECT_EQ(config->unbid, UnbidJobs::kRefuse);
  EXPECT_EQ(config->on_error, OnError::kUnbilled);
  EXPECT_TRUE(config->bids_in_comment);
  EXPECT_EQ(config->quiet, Quiet::kAccepted);
  EXPECT_TRUE(config->observes());
  EXPECT_EQ(config->no_funds, NoFunds::kWait);
  EXPECT_EQ(config->arrays, ArrayFunding::kPerTask);
  EXPECT_EQ(config->max_array_tasks, 5u);
  EXPECT_EQ(config->priority, 77u);
  EXPECT_EQ(config->bill_in_admin_comment, std::optional<bool>(false));
  EXPECT_EQ(config->jobcomp, "jobcomp/filetxt");
  EXPECT_EQ(config->charge_basis, ChargeBasis::kUsed);
  EXPECT_EQ(config->refund_window, 86400);
  EXPECT_EQ(config->ends.own, EndRule::kRefund);
  EXPECT_EQ(config->ends.cancelled_before_start, EndRule::kCharge);
  EXPECT_EQ(config->ends.cancelled_by_operator, EndRule::kCharge);
  EXPECT_EQ(config->ends.node_fail, EndRule::kCharge);
  EXPECT_EQ(config->ends.boot_fail, EndRule::kCharge);
  EXPECT_EQ(config->ends.preempted, EndRule::kCharge);
  EXPECT_EQ(config->ends.deadline, EndRule::kCharge);
  EXPECT_EQ(config->ends.late, EndRule::kFree);
  EXPECT_EQ(config->billing_rule, BillingRule::kMaxTres);
  EXPECT_DOUBLE_EQ(config->floor_price, 0);
  EXPECT_DOUBLE_EQ(config->cap_price, 2.5);
  EXPECT_DOUBLE_EQ(config->fixed_price, 0.75);
  EXPECT_EQ(config->slot, 30);
  EXPECT_EQ(config->horizon, 86400);
  EXPECT_EQ(config->start_slack, 0);
  EXPECT_EQ(config->reservation_lead, 7200);
  EXPECT_EQ(config->spare, 0.25);
  EXPECT_EQ(config->interval_ms, 250u);
  EXPECT_DOUBLE_EQ(config->late_penalty, 0.05);
  EXPECT_EQ(config->predictor, "lp");
  ASSERT_EQ(config->virtual_resources.size(), 1u);
  EXPECT_EQ(config->virtual_resources[0].tres, "virtual/rack");
  EXPECT_DOUBLE_EQ(config->virtual_resources[0].amount, 2.5);
  ASSERT_EQ(config->configurations.size(), 1u);
  EXPECT_EQ(config->configurations[0].name, "gpu");
  ASSERT_EQ(config->configurations[0].formal.size(), 1u);
  EXPECT_DOUBLE_EQ(config->configurations[0].formal[0].amount, 2);
  ASSERT_EQ(config->configurations[0].actual.size(), 3u);
  EXPECT_DOUBLE_EQ(config->configurations[0].actual[1].amount, 512) << "GB to MB";
  EXPECT_EQ(config->predictor_cycle, 86400);
  EXPECT_EQ(config->predictor_history, 172800);
  EXPECT_DOUBLE_EQ(config->weight_of("gres/gpu:a100"), 60);
  EXPECT_DOUBLE_EQ(config->weight_of("gres/gpu:t4"), 8);
  EXPECT_DOUBLE_EQ(config->weight_of("cpu"), 0);
  EXPECT_DOUBLE_EQ(config->weight_of("license/x"), 0);
}

TEST(Config, PotsOfTycoon) {
  const auto config = load(
      "planning = { auction_period = \"0:30\"; };\n"
      "tycoon = { account = \"user\"; interval = \"1-0\"; enforce = \"requeue\"; fund_max = "
      "\"0.25\"; "
      "min_run = \"3:00\"; slack = \"0.2\"; };");
  ASSERT_TRUE(config) << config.error().text;
  EXPECT_TRUE(config->tycoon.has_pots());
  EXPECT_EQ(config->tycoon.interval, 86400);
  EXPECT_EQ(config->tycoon.enforce, TycoonEnforce::kRequeue);
  EXPECT_EQ(config->tycoon.fund_max, 0.25);
  EXPECT_EQ(config->tycoon.min_run, 180);
  EXPECT_EQ(config->tycoon.slack, 0.2);
  EXPECT_FALSE(load("")->tycoon.has_pots());
  expect_fault("tycoon = { account = \"both\"; };", "2: tycoon.account: both: one of ");
  expect_fault("tycoon = { interval = \"0:05\"; };", "2: tycoon.interval: 0:05: ");
  expect_fault("tycoon = { fund_max = \"0\"; };", "2: tycoon.fund_max: 0: ");
  expect_fault("tycoon = { fund_max = \"1.5\"; };", "2: tycoon.fund_max: 1.5: ");
  expect_fault("tycoon = { enforce = \"kill\"; };", "2: tycoon.enforce: kill: one of start, ");
  expect_fault("tycoon = { enforce = \"suspend\"; };", "2: tycoon.enforce: suspend: ");
  expect_fault("tycoon = { period = \"0:10\"; };", "2: tycoon.period: ");
}

TEST(Config, EachMarketHasItsMode) {
  const auto config = load(R"(
mode = "observe";
markets = ( { name = "a"; partitions = [ "a" ]; },
            { name = "b"; partitions = [ "b" ]; mode = "active"; } );
)");
  ASSERT_TRUE(config) << config.error().text;
  ASSERT_EQ(config->observing().size(), 1u);
  EXPECT_EQ(config->observing()[0].name, "a");
  EXPECT_FALSE(config->only_observes());
}

TEST(Config, UnknownKeysAtAnyDepth) {
  expect_fault("\ncurency = \"x\";", "3: curency: x: ");
  expect_fault("prices = {\n flor = \"1\"; };", "3: prices.flor: 1: ");
  expect_fault("ends = { lost = \"free\"; };", "2: ends.lost: free: ");
  expect_fault("ends = { failed = \"free\"; };", "2: ends.failed: free: ");
  expect_fault("prices = { weights = ( { tres = \"cpu\"; weight = \"1\"; per = \"x\"; } ); };",
               "2: prices.weights[0].per: x: ");
  expect_fault("planning = { deep = { }; };", "2: planning.deep: {…}: ");
}

TEST(Config, WrongKindsOfValues) {
  expect_fault("currency = 5;", "2: currency: 5: ");
  expect_fault("prices = { floor = 0.1; };", "2: prices.floor: 0.1: ");
  expect_fault("planning = { slot = 60; };", "2: planning.slot: 60: ");
  expect_fault("planning = { interval_ms = \"1000\"; };", "2: planning.interval_ms: 1000: ");
  expect_fault("priority = 1.5;", "2: priority: 1.5: ");
  expect_fault("partitions = \"main\";", "2: partitions: main: ");
  expect_fault("partitions = [ 1, 2 ];", "2: partitions: (…): ");
  expect_fault("ends = \"free\";", "2: ends: free: ");
  expect_fault("prices = { weights = \"cpu\"; };", "2: prices.weights: cpu: ");
  expect_fault("prices = { weights = ( \"cpu\" ); };", "2: prices.weights: (…): ");
  expect_fault("unbid = true;", "2: unbid: true: ");
}

TEST(Config, ValuesOutOfRange) {
  expect_fault("mechanism = \"lottery\";", "2: mechanism: lottery: one of era, ");
  expect_fault("unbid = \"maybe\";", "2: unbid: maybe: one of best_effort, ");
  expect_fault("mode = \"off\";", "2: mode: off: one of active, ");
  expect_fault("comment = \"maybe\";", "2: comment: maybe: one of yes, ");
  expect_fault("quiet = \"all\";", "2: quiet: all: one of none, ");
  expect_fault("markets = ( { name = \"a\"; partitions = [ \"a\" ]; quiet = \"none\"; } );",
               "2: markets[0].quiet: none: ");
  expect_fault("ends = { late = \"sometimes\"; };", "2: ends.late: sometimes: one of ");
  expect_fault("priority = 0;", "2: priority: 0: ");
  expect_fault("priority = -5;", "2: priority: -5: ");
  expect_fault("priority = 5000000000L;", "2: priority: 5000000000: ");
  expect_fault("max_array_tasks = 0;", "2: max_array_tasks: 0: ");
  expect_fault("partitions = [ \"a\", \"a\" ];", "2: partitions: (…): ");
  expect_fault("bill_in_admin_comment = \"maybe\";", "2: bill_in_admin_comment: maybe: ");
  expect_fault("jobcomp = \"jobcomp/market\";", "2: jobcomp: jobcomp/market: ");
  expect_fault("jobcomp = \"filetxt\";", "2: jobcomp: filetxt: ");
  expect_fault("refund_window = \"UNLIMITED\";", "2: refund_window: UNLIMITED: ");
  expect_fault("prices = { floor = \"-1\"; };", "2: prices.floor: -1: ");
  expect_fault("prices = { floor = \"nan\"; };", "2: prices.floor: nan: ");
  expect_fault("prices = { floor = \"0.5\"; cap = \"0.4\"; };", "2: prices.cap: 0.4: ");
  expect_fault("prices = { floor = \"2\"; };", "2: prices.cap: not given: ");
  expect_fault("prices = { weights = ( { tres = \"cpu\"; weight = \"0\"; } ); };",
               "2: prices.weights: (…): ");
  expect_fault("prices = { weights = ( { tres = \"cpus\"; weight = \"1\"; } ); };",
               "2: prices.weights[0].tres: cpus: ");
  expect_fault("prices = { weights = ( { tres = \"cpu\"; } ); };",
               "2: prices.weights[0].weight: not given: ");
  expect_fault(
      "prices = { weights = ( { tres = \"cpu\"; weight = \"1\"; }, { tres = \"cpu\"; weight = "
      "\"2\"; } ); };",
      "2: prices.weights[1].tres: cpu: ");
  expect_fault("planning = { slot = \"0:05\"; };", "2: planning.slot: 0:05: ");
  expect_fault("planning = { slot = \"0:45\"; };", "2: planning.slot: 0:45: ");
  expect_fault("planning = { slot = \"1:30\"; };", "2: planning.slot: 1:30: ");
  expect_fault("planning = { slot = \"2h\"; };", "2: planning.slot: 2h: ");
  expect_fault("planning = { slot = \"7:00\"; horizon = \"1-0\"; };", "2: planning.horizon: 1-0: ");
  expect_fault("planning = { slot = \"0:10\"; horizon = \"60-0\"; };",
               "2: planning.horizon: 60-0: ");
  expect_fault("planning = { horizon = \"12:00:00\"; };",
               "2: planning.reservation_lead: not given: ");
  expect_fault("planning = { spare = \"1\"; };", "2: planning.spare: 1: ");
  expect_fault("planning = { horizon = \"1-0\"; reservation_lead = \"2-0\"; };",
               "2: planning.reservation_lead: 2-0: ");
  expect_fault("planning = { interval_ms = 5; };", "2: planning.interval_ms: 5: ");
  expect_fault("predictor = { cycle = \"2-0\"; history = \"1-0\"; };",
               "2: predictor.history: 1-0: ");
  expect_fault("predictor = { method = \"oracle\"; };", "2: predictor.method: oracle: ");
}

TEST(Config, ResourcesAndTheirConfigurations) {
  expect_fault("virtual_resources = ( { tres = \"rack\"; amount = \"1\"; } );",
               "2: virtual_resources[0].tres: rack: ");
  expect_fault("virtual_resources = ( { tres = \"virtual/x\"; amount = \"0\"; } );",
               "2: virtual_resources[0].amount: 0: ");
  const auto expect_pair_fault = [](const std::string& name, const std::string& formal,
                                    const std::string& actual, const std::string& fault) {
    expect_fault("configurations = ( { name = \"" + name + "\"; formal = ( " + formal +
                     " ); actual = ( " + actual + " ); } );",
                 "2: configurations[0]." + fault);
  };
  const std::string cpu = "{ tres = \"cpu\"; amount = \"1\"; }";
  expect_pair_fault("a b", cpu, cpu, "name: a b: ");
  expect_pair_fault("a", "{ tres = \"virtual/x\"; amount = \"1\"; }", cpu,
                    "formal[0].tres: virtual/x: ");
  expect_pair_fault("a", cpu, "{ tres = \"virtual/x\"; amount = \"1\"; }",
                    "actual[0].tres: virtual/x: ");
  expect_pair_fault("a", cpu, "{ tres = \"cpu\"; }", "actual[0].amount: not given: ");
  expect_pair_fault("a", cpu + ", " + cpu, cpu, "formal[1].tres: cpu: ");
  expect_pair_fault("a", cpu, "{ tres = \"cpu\"; amount = \"1\"; per = \"x\"; }",
                    "actual[0].per: x: ");
  expect_fault("configurations = ( { name = \"a\"; formal = ( " + cpu + " ); } );",
               "2: configurations[0].actual: not given: ");
  expect_fault("prices = { late_penalty = \"1.5\"; };", "2: prices.late_penalty: 1.5: ");
}

TEST(Config, IntegersThatLibconfigWouldWrap) {
  expect_fault("priority = 5000000000;", "2: priority: 5000000000: ");
  expect_fault(
      "# 5000000000 in a comment, \"5000000000\" too\n/* 9999999999\n */ priority = 0x1FFFFFFFF;",
      "4: priority: 0x1FFFFFFFF: ");
  EXPECT_TRUE(load("currency = \"5000000000\"; // 5000000000\n"));
}

TEST(Config, TheDatabaseIsNeeded) {
  EXPECT_EQ(fault_of("currency = \"x\";").rfind(" database: not given: ", 0), 0u)
      << fault_of("currency = \"x\";");
  EXPECT_EQ(fault_of("database = \"ledger.db\";").rfind("1: database: ledger.db: ", 0), 0u);
}

TEST(Config, WrongSyntax) {
  EXPECT_EQ(fault_of("database = \"/x\";\ncurrency == 1;"), "2: syntax error");
  EXPECT_EQ(fault_of("database = \"/x\";\ncurrency = \"a\";\ncurrency = \"b\";"),
            "3: duplicate setting name");
  EXPECT_EQ(fault_of("database = \"/x\";\n  @include \"/\"\n").rfind("2: @include: ", 0), 0u);
  EXPECT_NE(fault_of("\xff\xfe\x01"), "");
}

TEST(Config, UnreadableFiles) {
  const auto error_of = [](const std::string& path) {
    const auto config = load_config(path, mechanism_names());
    return config ? std::string() : config.error().text;
  };
  EXPECT_EQ(error_of("/nonexistent/market.conf"),
            "/nonexistent/market.conf: No such file or directory");
  EXPECT_EQ(error_of("/tmp"), "/tmp: not a regular file");
  EXPECT_EQ(error_of("/dev/null"), "/dev/null: not a regular file");
  const TemporaryFile nul(std::string("database\0 = 1;", 14));
  EXPECT_EQ(error_of(nul.path()), nul.path() + ": not a text file");
  const TemporaryFile huge(std::string(2 << 20, '#'));
  EXPECT_EQ(error_of(huge.path()), huge.path() + ": larger than 1 MB");
}

RC_GTEST_PROP(Config, NoTextBreaksIt, (std::string text)) {
  const TemporaryFile file(kDatabase + text);
  const auto config = load_config(file.path(), mechanism_names());
  if (!config) RC_ASSERT(config.error().text.find('\n') == std::string::npos);
}

TEST(Config, OwnersOfNodes) {
  const auto config = load(R"(
owners = ( { nodes = "n[08-10],gpu1"; account = "Lab-A"; ask = "0.02"; },
           { nodes = "n11"; account = "lab-b"; ask = "0"; } );
)");
  ASSERT_TRUE(config) << config.error().text;
  ASSERT_EQ(config->owners.size(), 5u);
  EXPECT_EQ(config->owners.at("n08").account, "lab-a");
  EXPECT_DOUBLE_EQ(config->owners.at("gpu1").ask, 0.02);
  EXPECT_EQ(config->owners.at("n11").account, "lab-b");
  EXPECT_TRUE(load("")->owners.empty());
}

TEST(Config, BoundsOfAsks) {
  const auto config = load(R"(
dva = { over_budget = "skip"; ask_min = "0.01"; ask_max = "5"; ask_every = "1:00:00"; };
owners = ( { nodes = "n1"; account = "a"; ask = "0.01"; }, { nodes = "n2"; account = "a"; ask = "5"; } );
)");
  ASSERT_TRUE(config) << config.error().text;
  EXPECT_EQ(config->over_budget, OverBudget::kSkip);
  EXPECT_DOUBLE_EQ(config->asks.least, 0.01);
  EXPECT_DOUBLE_EQ(config->asks.most, 5);
  EXPECT_EQ(config->asks.every, 3600);
  EXPECT_EQ(load("")->over_budget, OverBudget::kCap);
  EXPECT_EQ(load("")->asks.most, 1e6);
  expect_fault("dva = { over_budget = \"pay\"; };", "2: dva.over_budget: pay: ");
  expect_fault("dva = { ask_min = \"2\"; ask_max = \"1\"; };",
               "2: dva.ask_max: 1: not below ask_min");
  expect_fault("dva = { ask_every = \"often\"; };", "2: dva.ask_every: often: ");
  expect_fault(
      "dva = { ask_min = \"0.5\"; ask_max = \"1\"; };\n"
      "owners = ( { nodes = \"n1\"; account = \"a\"; ask = \"0.4\"; } );",
      "3: owners[0].ask: 0.4: not below dva.ask_min");
  expect_fault(
      "dva = { ask_max = \"1\"; };\n"
      "owners = ( { nodes = \"n1\"; account = \"a\"; ask = \"2\"; } );",
      "3: owners[0].ask: 2: a quoted decimal number from 0 to 1");
}

TEST(Config, FaultsOfOwners) {
  expect_fault(
      "owners = ( { nodes = \"n[1-3]\"; account = \"a\"; ask = \"1\"; },\n"
      "  { nodes = \"n3\"; account = \"b\"; ask = \"1\"; } );",
      "3: owners[1].nodes: n3: each node once, but n3 comes");
  expect_fault("owners = ( { nodes = \"n[3-1]\"; account = \"a\"; ask = \"1\"; } );",
               "2: owners[0].nodes: n[3-1]: ");
  expect_fault("owners = ( { account = \"a\"; ask = \"1\"; } );",
               "2: owners[0].nodes: not given: ");
  expect_fault("owners = ( { nodes = \"n1\"; ask = \"1\"; } );",
               "2: owners[0].account: not given: ");
  expect_fault("owners = ( { nodes = \"n1\"; account = \"@revenue\"; ask = \"1\"; } );",
               "2: owners[0].account: @revenue: ");
  expect_fault("owners = ( { nodes = \"n1\"; account = \"a\"; } );",
               "2: owners[0].ask: not given: ");
  expect_fault("owners = ( { nodes = \"n1\"; account = \"a\"; ask = \"-1\"; } );",
               "2: owners[0].ask: -1: ");
  expect_fault("owners = ( { nodes = \"n1\"; account = \"a\"; ask = 1; } );",
               "2: owners[0].ask: 1: ");
  expect_fault("owners = ( { nodes = \"n1\"; account = \"a\"; ask = \"1\"; nods = \"\"; } );",
               "2: owners[0].nods: ");
  expect_fault("owners = \"n1\";", "2: owners: n1: ");
}

TEST(Config, AFileWithoutMarketsIsOneMarket) {
  const auto config = load("mechanism = \"dva\"; partitions = [ \"main\" ];");
  ASSERT_TRUE(config) << config.error().text;
  EXPECT_TRUE(config->markets.empty());
  const auto markets = config->all_markets();
  ASSERT_EQ(markets.size(), 1u);
  EXPECT_EQ(markets[0].name, "market");
  EXPECT_EQ(markets[0].mechanism, "dva");
  EXPECT_TRUE(markets[0].trades("main"));
  EXPECT_FALSE(markets[0].trades("gpu"));
}

TEST(Config, MarketsTakeWhatTheyDoNotSayFromTheTopLevel) {
  const auto config = load(R"(
currency = "SU"; seed = "42"; charge = "used"; priority = 5;
prices = { floor = "0.2"; cap = "0.8"; weights = ( { tres = "mem"; weight = "2"; } ); };
planning = { slot = "5"; interval_ms = 500; };
owners = ( { account = "bio"; nodes = "n1"; ask = "0.1"; } );
qos = ( { name = "High"; factor = "2"; }, { name = "normal"; factor = "1"; } );
markets = (
  { name = "batch"; partitions = [ "main", "long" ]; rates = ( { partition = "long"; factor = "1.5"; } ); },
  { name = "condo"; partitions = [ "condo" ]; mechanism = "dva"; prices = { floor = "0.01"; };
    planning = { auction_period = "1"; };
    owners = ( { account = "chem"; nodes = "n[1-2]"; ask = "0.3"; } ); ends = { own = "free"; };
    qos = ( { name = "low"; factor = "0.5"; } ); } );
)");
  ASSERT_TRUE(config) << config.error().text;
  ASSERT_EQ(config->markets.size(), 2u);
  const MarketSettings& batch = config->markets[0];
  const MarketSettings& condo = config->markets[1];
  EXPECT_EQ(batch.name, "batch");
  EXPECT_EQ(batch.mechanism, "era");
  EXPECT_EQ(batch.charge_basis, ChargeBasis::kUsed);
  EXPECT_EQ(batch.slot, 300);
  EXPECT_EQ(batch.rate_of("long"), 1.5);
  EXPECT_EQ(batch.rate_of("main"), 1);
  EXPECT_EQ(batch.qos_factor("high"), 2);
  EXPECT_EQ(batch.qos_factor("normal"), 1);
  EXPECT_EQ(condo.qos_factor("high"), 1);
  EXPECT_EQ(condo.qos_factor("low"), 0.5);
  EXPECT_EQ(batch.owners.at("n1").account, "bio");
  EXPECT_TRUE(batch.trades("long"));
  EXPECT_EQ(condo.mechanism, "dva");
  EXPECT_EQ(condo.seed, "42");
  EXPECT_EQ(condo.currency, "SU");
  EXPECT_EQ(condo.priority, 5u);
  EXPECT_EQ(condo.floor_price, 0.01);
  EXPECT_EQ(condo.cap_price, 0.8);
  EXPECT_EQ(condo.weight_of("mem"), 2);
  EXPECT_EQ(condo.auction_period, 60);
  EXPECT_EQ(condo.slot, 300);
  EXPECT_EQ(condo.owners.at("n1").account, "chem");
  EXPECT_EQ(condo.owners.size(), 2u);
  EXPECT_EQ(condo.ends.own, EndRule::kFree);
  EXPECT_EQ(batch.ends.own, EndRule::kCharge);
}

TEST(Config, FaultsOfMarketsSayWhere) {
  const auto of = [](const std::string& list) { return "markets = ( " + list + " );"; };
  const std::string a = "{ name = \"a\"; partitions = [ \"p\" ]; }";
  expect_fault("markets = ( );", "2: markets: ");
  expect_fault(of("{ partitions = [ \"p\" ]; }"), "2: markets[0].name: ");
  expect_fault(of("{ name = \"Two Words\"; partitions = [ \"p\" ]; }"), "2: markets[0].name: ");
  expect_fault(of(a + ", { name = \"a\"; partitions = [ \"q\" ]; }"), "2: markets[1].name: a: ");
  expect_fault(of("{ name = \"a\"; }"), "2: markets[0].partitions: ");
  expect_fault(of(a + ", { name = \"b\"; partitions = [ \"q\", \"p\" ]; }"),
               "2: markets[1].partitions: ");
  expect_fault("partitions = [ \"p\" ];\n" + of(a), "2: partitions: ");
  expect_fault(of("{ name = \"a\"; partitions = [ \"p\" ]; mechanism = \"lottery\"; }"),
               "2: markets[0].mechanism: lottery: ");
  expect_fault(of("{ name = \"a\"; partitions = [ \"p\" ]; currency = \"SU\"; }"),
               "2: markets[0].currency: SU: ");
  expect_fault(of("{ name = \"a\"; partitions = [ \"p\" ]; planning = { interval_ms = 500; }; }"),
               "2: markets[0].planning.interval_ms: 500: ");
  expect_fault(of("{ name = \"a\"; partitions = [ \"p\" ]; prices = { floor = \"9\"; }; }"),
               "2: markets[0].prices.cap: ");
  expect_fault("rates = ( { partition = \"p\"; factor = \"0\"; } );", "2: rates[0].factor: 0: ");
  expect_fault("rates = ( { partition = \"p\"; factor = \"1001\"; } );",
               "2: rates[0].factor: 1001: ");
  expect_fault(
      "rates = ( { partition = \"p\"; factor = \"2\"; }, { partition = \"p\"; factor = \"2\"; } );",
      "2: rates[1].partition: p: ");
  expect_fault(of("{ name = \"a\"; partitions = [ \"p\" ]; "
                  "rates = ( { partition = \"q\"; factor = \"2\"; } ); }"),
               "2: markets[0].rates: ");
  expect_fault("qos = ( { name = \"high\"; factor = \"0\"; } );", "2: qos[0].factor: 0: ");
  expect_fault("qos = ( { name = \"high\"; factor = \"-1\"; } );", "2: qos[0].factor: -1: ");
  expect_fault("qos = ( { name = \"high\"; factor = \"1001\"; } );", "2: qos[0].factor: 1001: ");
  expect_fault("qos = ( { name = \"high\"; factor = 2; } );", "2: qos[0].factor: 2: ");
  expect_fault("qos = ( { name = \"high\"; } );", "2: qos[0].factor: ");
  expect_fault("qos = ( { factor = \"2\"; } );", "2: qos[0].name: ");
  expect_fault(
      "qos = ( { name = \"high\"; factor = \"2\"; }, { name = \"HIGH\"; factor = \"3\"; } );",
      "2: qos[1].name: HIGH: ");
  expect_fault("qos = ( { name = \"high\"; factor = \"2\"; partition = \"p\"; } );",
               "2: qos[0].partition: ");
}

}  // namespace
}  // namespace market
