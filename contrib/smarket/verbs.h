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
};

struct RefundArguments {
  std::string job, credits, note, cluster, submit;
  bool force = false;
};

struct QuoteArguments {
  SizeArguments size;
  std::string time_limit, begin, deadline, partition, account, qos;
};

struct MenuArguments {
  QuoteArguments job;
  std::string budget, value, svg;
  std::int64_t rows = 0;  ///< 0: as market.conf says
};

struct RebidArguments {
  std::string job, budget, budget_rate, value;
};

struct AskArguments {
  std::string nodes, price, tres;
};

struct LearnArguments {
  std::string sacct, cluster, value_per_hour = "0.10..0.60", slack, seed = "1";
  std::vector<std::string> fields;
  bool clear = false, strict = false;
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

// market_verbs.cc: answered by the market in slurmctld.
int quote(const Common& common, const QuoteArguments& arguments);
int menu(const Common& common, const MenuArguments& arguments);
int why(const Common& common, const std::string& job);
int prices(const Common& common, const std::string& partition);
int show_markets(const Common& common);
int rebid(const Common& common, const RebidArguments& arguments);

// observed_verb.cc: the books themselves.
int show_observed(const Common& common, const ObservedArguments& arguments);

// owner_verbs.cc
int ask(const Common& common, const AskArguments& arguments);
int show_owners(const Common& common, const std::string& since);

// check.cc
int check(const Common& common);

// learn_verb.cc
int learn(const Common& common, const LearnArguments& arguments);

// simulate_verb.cc: no cluster is needed.
int simulate(const Common& common, const SimulateArguments& arguments);

// solve_verb.cc
int solve(const std::string& mechanism, const std::string& file);

}  // namespace market::smarket
