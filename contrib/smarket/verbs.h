// SPDX-License-Identifier: GPL-2.0-or-later
// The verbs of smarket. Each prints its result on stdout, or one line on stderr, and returns the
// exit code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "contrib/smarket/output.h"
#include "contrib/smarket/size_arguments.h"

namespace market::smarket {

struct AccountArguments {
  std::string name, note;
  std::vector<std::string> users, remove_users;
};

struct MoneyArguments {
  std::string account, to, credits, note;
  bool receipt = false;  ///< transfer: to a host of another cluster
  std::string again;     ///< the receipt of this identity once more
};

struct RefundArguments {
  std::string job, credits, note, cluster, submit;
  bool force = false;
};

struct QuoteArguments {
  SizeArguments size;
  std::string time_limit, begin, deadline, partition, account, qos;
  std::string job_class, work;
  std::string budget, value;  ///< of a script or a menu: what the job is worth changes no price
  std::string script;         ///< whose #SBATCH lines tell what is not given
  bool hold = false;          ///< quote: keep price and place for a while
};

struct MenuArguments {
  QuoteArguments job;
  std::string svg;
  std::int64_t rows = 0;  ///< 0: as market.conf says
};

struct SubmitArguments {
  std::vector<std::string> scripts;
  std::string file, budget, deadline;
  bool all = false;  ///< of the list or nothing: there is no other way
};

struct ReserveArguments {
  QuoteArguments job;
  std::string name, accounts, cancel;
  bool list = false;
};

struct RebidArguments {
  std::string job, budget, budget_rate, value;
};

struct AskArguments {
  std::string nodes, price, tres;
};

struct FundArguments {
  std::vector<std::string> hosts;  ///< of a funding the last one is CREDITS
  std::string interval, set_interval, tres, account, user;
  bool close = false, show = false;
  std::string receipt;                             ///< a file, instead of CREDITS
  std::string rate, cpus, confidence, min_margin;  ///< of --advise
  bool advise = false, apply = false, measured = false;
  std::int64_t every = 0;  ///< seconds; 0: once
};

struct LearnArguments {
  std::string sacct, cluster, value_per_hour = "0.10..0.60", slack, seed = "1";
  std::vector<std::string> fields;
  bool clear = false, strict = false;
  std::string forget;  ///< a name of the user's jobs
};

struct ObservedArguments {
  std::string start, end, market;
};

struct SimulateArguments {
  std::string swf, sacct, ledger, mapreduce, generate, cluster;
  std::vector<std::string> fields, mechanisms;
  std::string nodes, slurm_conf, machine_file, node_events, market_conf, credits;
  std::string value_per_hour, slack, sigmoid, bids, seed = "1";
  std::string until;
  std::int64_t first = 0;    ///< 0: all
  std::int64_t cleanup = 0;  ///< seconds
  double scale_load = 1;
  bool strict = false, verbose = false, from_slurm = false;
  std::string jobs_file, decisions_file, report_file;
};

// accounts.cc: the books themselves, for who may read them, else by way of slurmctld.
int account_add(const Common& common, const AccountArguments& arguments);
int account_show(const Common& common, const std::string& name);
/// All accounts.
int account_list(const Common& common);
/// One account, or with an empty name those the user belongs to.
int balance(const Common& common, const std::string& account);

// money_verbs.cc
int deposit(const Common& common, const MoneyArguments& arguments);
int withdraw(const Common& common, const MoneyArguments& arguments);
int transfer(const Common& common, const MoneyArguments& arguments);
int refund(const Common& common, const RefundArguments& arguments);

// receipt_verb.cc
int send_credits(const Common& common, const MoneyArguments& arguments);

// market_verbs.cc: answered by the market in slurmctld.
int quote(const Common& common, const QuoteArguments& arguments);
int menu(const Common& common, const MenuArguments& arguments);
int why(const Common& common, const std::string& job);
int prices(const Common& common, const std::string& partition);
int show_markets(const Common& common);
int show_classes(const Common& common);
int show_plan(const Common& common);
int rebid(const Common& common, const RebidArguments& arguments);

// utility_verbs.cc: what was learned of the utility of users' jobs.
int show_utility(const Common& common, const std::string& name);
int forget_utility(const Common& common, const std::string& name);

// submit_verb.cc
int submit(const Common& common, const SubmitArguments& arguments);

// reserve_verb.cc
int reserve(const Common& common, const ReserveArguments& arguments);

// observed_verb.cc: the books themselves.
int show_observed(const Common& common, const ObservedArguments& arguments);

// owner_verbs.cc
int ask(const Common& common, const AskArguments& arguments);
int show_owners(const Common& common, const std::string& since);

struct IncomeArguments {
  std::string account, credits, per, until, nodes, note;
};

// income_verbs.cc: where users' money comes from.
int account_income(const Common& common, const IncomeArguments& arguments);
int account_collect(const Common& common, const std::string& note);
int account_join(const Common& common, const IncomeArguments& arguments);

// advise_verb.cc: Tycoon's agent, which spreads a budget over hosts.
int advise(const Common& common, const FundArguments& arguments);

// fund_verb.cc
int fund(const Common& common, const FundArguments& arguments);

// check.cc
int check(const Common& common);

// learn_verb.cc
int learn(const Common& common, const LearnArguments& arguments);

// simulate_verb.cc: no cluster is needed.
int simulate(const Common& common, const SimulateArguments& arguments);

// solve_verb.cc
int solve(const std::string& mechanism, const std::string& file);

}  // namespace market::smarket
