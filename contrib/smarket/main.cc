// SPDX-License-Identifier: GPL-2.0-or-later
// The command line of smarket: verbs and their options. What they do is in one file for each. One file
// although it is long: who looks for an option finds all of them in the order of --help.
#include <CLI/CLI.hpp>
#include <functional>

#include "contrib/client/complain.h"
#include "contrib/smarket/output.h"
#include "contrib/smarket/verbs.h"
#include "core/util/clean_text.h"

namespace {

using namespace market::smarket;

/// What the command line fills, and the verb it chose.
struct CommandLine {
  Common common;
  AccountArguments account;
  MoneyArguments money;
  RefundArguments refund;
  QuoteArguments quote;
  MenuArguments menu;
  RebidArguments rebid;
  SubmitArguments submit;
  ReserveArguments reserve;
  LearnArguments learn;
  ObservedArguments observed;
  AskArguments ask;
  IncomeArguments income;
  FundArguments fund;
  SimulateArguments simulate;
  std::string name, job, partition, since, mechanism, file = "-";
  std::function<int()> run;
};

/// Notes stand in statements, which are read line by line and as JSON.
std::string refuse_unprintable(const std::string& note) {
  return market::is_clean_text(note) ? "" : "must be UTF-8 text without control characters";
}

void add_note(CLI::App* verb, std::string& note, const char* what) {
  verb->add_option("--note", note, what)->check(CLI::Validator(refuse_unprintable, ""));
}

CLI::App* add_verb(CLI::App& app, const char* name, const char* what) {
  CLI::App* verb = app.add_subcommand(name, what);
  verb->fallthrough();
  verb->footer("");
  verb->get_formatter()->column_width(40);
  return verb;
}

void choose(CLI::App* verb, CommandLine& line, std::function<int()> run) {
  verb->callback([&line, run = std::move(run)] { line.run = run; });
}

void add_account_verbs(CLI::App& app, CommandLine& line) {
  CLI::App* account = add_verb(app, "account", "Accounts and their users");
  account->require_subcommand(1);

  CLI::App* add = add_verb(*account, "add", "Open an account, or change the users of one");
  add->add_option("NAME", line.account.name, "The account")->required();
  add->add_option("--users", line.account.users, "Users to add, comma separated")->delimiter(',');
  add->add_option("--remove-users", line.account.remove_users, "Users to take out")->delimiter(',');
  add_note(add, line.account.note, "What it is for");
  choose(add, line, [&line] { return account_add(line.common, line.account); });

  CLI::App* income = add_verb(*account, "income", "Pay an account an income from now on");
  income->add_option("NAME", line.income.account, "The account")->required();
  income->add_option("CREDITS", line.income.credits, "For each --per; 0 ends it")->required();
  income->add_option("--per", line.income.per, "A duration, such as 1-0 for a day")->required();
  income->add_option("--until", line.income.until, "When it ends by itself");
  choose(income, line, [&line] { return account_income(line.common, line.income); });

  CLI::App* collect = add_verb(*account, "collect", "Return what the cluster took in");
  add_note(collect, line.money.note, "Why, for the statement");
  choose(collect, line, [&line] { return account_collect(line.common, line.money.note); });

  CLI::App* join =
      add_verb(*account, "join", "Who brings nodes gets an allotment, and what they earn");
  join->add_option("NAME", line.income.account, "The account")->required();
  join->add_option("--allotment", line.income.credits, "Credits out of the treasury, once");
  join->add_option("--nodes", line.income.nodes, "The nodes it brings, such as n[01-04]; or none");
  choose(join, line, [&line] { return account_join(line.common, line.income); });

  CLI::App* list = add_verb(*account, "list", "All accounts that you may see");
  choose(list, line, [&line] { return account_list(line.common); });

  CLI::App* show = add_verb(*account, "show", "One account with its users");
  show->add_option("NAME", line.name, "The account")->required();
  choose(show, line, [&line] { return account_show(line.common, line.name); });

  CLI::App* balance_verb = add_verb(app, "balance", "Balance of one account, or of all of yours");
  balance_verb->add_option("ACCOUNT", line.name, "The account");
  choose(balance_verb, line, [&line] { return balance(line.common, line.name); });
}

void add_money_verbs(CLI::App& app, CommandLine& line) {
  const auto add_rest = [&line](CLI::App* verb) {
    verb->add_option("CREDITS", line.money.credits, "Amount, such as 1000 or 38.90")->required();
    add_note(verb, line.money.note, "Why, for the statement");
  };
  CLI::App* deposit_verb = add_verb(app, "deposit", "Put credits into an account");
  deposit_verb->add_option("ACCOUNT", line.money.account, "The account")->required();
  add_rest(deposit_verb);
  choose(deposit_verb, line, [&line] { return deposit(line.common, line.money); });

  CLI::App* withdraw_verb = add_verb(app, "withdraw", "Take credits out of an account");
  withdraw_verb->add_option("ACCOUNT", line.money.account, "The account")->required();
  add_rest(withdraw_verb);
  choose(withdraw_verb, line, [&line] { return withdraw(line.common, line.money); });

  CLI::App* transfer_verb = add_verb(app, "transfer", "Move credits between accounts");
  transfer_verb->add_option("FROM", line.money.account, "The account that pays")->required();
  transfer_verb
      ->add_option("TO", line.money.to,
                   "The account that gets them; with --receipt CLUSTER:HOST/USER")
      ->required();
  add_rest(transfer_verb);
  transfer_verb->add_flag("--receipt", line.money.receipt,
                          "To another cluster: write the receipt that is presented there");
  transfer_verb->add_option("--again", line.money.again,
                            "With --receipt: write the one of this identity once more");
  choose(transfer_verb, line, [&line] { return transfer(line.common, line.money); });

  CLI::App* refund_verb = add_verb(app, "refund", "Give back part of what a job was charged");
  refund_verb->add_option("JOBID", line.refund.job, "The job, or ARRAY_TASK")->required();
  refund_verb->add_option("CREDITS", line.refund.credits, "Amount")->required();
  add_note(refund_verb, line.refund.note, "Why, for the statement");
  refund_verb->add_option("--cluster", line.refund.cluster, "The job's cluster");
  refund_verb->add_option("--submit", line.refund.submit,
                          "When it was submitted, of a job number that came again");
  refund_verb->add_flag("--force", line.refund.force, "Also after the refund window");
  choose(refund_verb, line, [&line] { return refund(line.common, line.refund); });
}

void add_size_options(CLI::App* verb, SizeArguments& size) {
  verb->add_option("-N,--nodes", size.nodes, "Number of nodes, or MIN-MAX");
  verb->add_option("-n,--ntasks", size.tasks, "Number of tasks");
  verb->add_option("-c,--cpus-per-task", size.cpus_per_task, "CPUs for each task");
  verb->add_option("--ntasks-per-node", size.tasks_per_node, "Tasks on each node");
  verb->add_option("--mincpus", size.mincpus, "CPUs on each node at least");
  verb->add_option("--ntasks-per-core", size.tasks_per_core, "Tasks on each core at most");
  verb->add_option("--threads-per-core", size.threads_per_core, "Threads of each core to use");
  verb->add_option("--ntasks-per-gpu", size.tasks_per_gpu, "Tasks for each GPU");
  verb->add_option("--mem", size.mem, "Memory for each node");
  verb->add_option("--mem-per-cpu", size.mem_per_cpu, "Memory for each CPU");
  verb->add_option("--mem-per-gpu", size.mem_per_gpu, "Memory for each GPU");
  verb->add_option("--cpus-per-gpu", size.cpus_per_gpu, "CPUs for each GPU");
  verb->add_option("--gres", size.gres, "Generic resources for each node");
  verb->add_option("-G,--gpus", size.gpus, "GPUs for the job");
  verb->add_option("--gpus-per-node", size.gpus_per_node, "GPUs for each node");
  verb->add_option("--gpus-per-task", size.gpus_per_task, "GPUs for each task");
  verb->add_option("-C,--constraint", size.constraint, "Features that the nodes must have");
  verb->add_flag("--exclusive", size.exclusive, "Whole nodes");
}

void add_job_options(CLI::App* verb, QuoteArguments& job) {
  add_size_options(verb, job.size);
  verb->add_option("-t,--time", job.time_limit, "Time limit")->envname("SBATCH_TIMELIMIT");
  verb->add_option("-p,--partition", job.partition, "Partition")->envname("SBATCH_PARTITION");
  verb->add_option("-q,--qos", job.qos, "QOS")->envname("SBATCH_QOS");
  verb->add_option("-A,--account", job.account, "Account")->envname("SBATCH_ACCOUNT");
  verb->add_option("--deadline", job.deadline, "To be done by this time");
  verb->add_option("--class", job.job_class, "Class of the job, of those of smarket show classes");
  verb->add_option("--work", job.work, "Units of work of a recurrent class");
  verb->add_option("SCRIPT", job.script,
                   "A batch script: its #SBATCH lines tell what is not given here");
}

void add_menu_verb(CLI::App& app, CommandLine& line) {
  constexpr std::int64_t kMostRows = 200;
  CLI::App* verb = add_verb(app, "menu", "By when a job can be done at which price");
  add_job_options(verb, line.menu.job);
  verb->add_option("--budget", line.menu.job.budget,
                   "What the job is worth, by --deadline if that is given");
  verb->add_option("--value", line.menu.job.value, "What it is worth, as MAX:DROP:ZERO");
  verb->add_option("--rows", line.menu.rows, "So many rows at most")
      ->check(CLI::Range(std::int64_t{1}, kMostRows));
  verb->add_option("--svg", line.menu.svg, "Write a picture of the menu into this file");
  choose(verb, line, [&line] { return menu(line.common, line.menu); });
}

void add_submit_verb(CLI::App& app, CommandLine& line) {
  CLI::App* verb = add_verb(app, "submit", "Submit several jobs for one price, or none of them");
  verb->add_flag("--all", line.submit.all, "All of them or none")->required();
  verb->add_option("--budget", line.submit.budget, "What all of them are worth, in credits")
      ->required();
  verb->add_option("--deadline", line.submit.deadline,
                   "By when those must be done that name no deadline of their own");
  verb->add_option("--file", line.submit.file,
                   "A list: on each line what follows sbatch, after=K before it where wanted");
  verb->add_option("SCRIPT", line.submit.scripts, "Batch scripts, after --");
  choose(verb, line, [&line] { return submit(line.common, line.submit); });
}

void add_reserve_verb(CLI::App& app, CommandLine& line) {
  CLI::App* verb = add_verb(app, "reserve", "Buy a place now and run jobs in it later");
  ReserveArguments& wanted = line.reserve;
  add_size_options(verb, wanted.job.size);
  verb->add_option("-t,--time", wanted.job.time_limit, "For so long");
  verb->add_option("-p,--partition", wanted.job.partition, "Partition")
      ->envname("SBATCH_PARTITION");
  verb->add_option("-q,--qos", wanted.job.qos, "QOS")->envname("SBATCH_QOS");
  verb->add_option("-A,--account", wanted.job.account, "Who pays")->envname("SBATCH_ACCOUNT");
  verb->add_option("-b,--begin", wanted.job.begin, "Not before this time");
  verb->add_option("--deadline", wanted.job.deadline, "To be over by this time");
  verb->add_option("--budget", wanted.job.budget, "What it is worth, in credits");
  verb->add_option("--name", wanted.name, "What the job that stands for it is called");
  verb->add_option("--accounts", wanted.accounts,
                   "Who may run jobs in it: these accounts, instead of its owner alone");
  verb->add_option("--cancel", wanted.cancel, "Give this one back, such as r17");
  verb->add_flag("--list", wanted.list, "What is reserved");
  choose(verb, line, [&line] { return reserve(line.common, line.reserve); });
}

void add_market_verbs(CLI::App& app, CommandLine& line) {
  CLI::App* quote_verb = add_verb(app, "quote", "What a job would cost, and when it would run");
  add_job_options(quote_verb, line.quote);
  quote_verb->add_option("-b,--begin", line.quote.begin, "Not before this time");
  quote_verb->add_flag("--hold", line.quote.hold,
                       "Keep the cheapest start and its price for a while, with a lien");
  choose(quote_verb, line, [&line] { return quote(line.common, line.quote); });

  add_menu_verb(app, line);
  add_submit_verb(app, line);
  add_reserve_verb(app, line);

  CLI::App* why_verb = add_verb(app, "why", "Why a job waits, and what it costs");
  why_verb->add_option("JOBID", line.job, "The job, or ARRAY_TASK")->required();
  choose(why_verb, line, [&line] { return why(line.common, line.job); });

  CLI::App* prices_verb = add_verb(app, "prices", "Prices of the hours to come");
  prices_verb->add_option("-p,--partition", line.partition, "Partition")
      ->envname("SBATCH_PARTITION");
  choose(prices_verb, line, [&line] { return prices(line.common, line.partition); });

  CLI::App* show = add_verb(app, "show", "What there is");
  show->require_subcommand(1);
  CLI::App* show_markets_verb =
      add_verb(*show, "markets", "The markets, their rules, partitions and price levels");
  choose(show_markets_verb, line, [&line] { return show_markets(line.common); });

  CLI::App* show_classes_verb =
      add_verb(*show, "classes", "The classes of jobs that menus are made for");
  choose(show_classes_verb, line, [&line] { return show_classes(line.common); });

  CLI::App* utility =
      add_verb(*show, "utility", "What was learned of the utility of your jobs, by their names");
  utility->add_option("NAME", line.name, "Of jobs of this name alone");
  choose(utility, line, [&line] { return show_utility(line.common, line.name); });

  CLI::App* plan = add_verb(*show, "plan", "What should run now, with which TRES (operators)");
  choose(plan, line, [&line] { return show_plan(line.common); });

  CLI::App* observed =
      add_verb(*show, "observed", "What markets that only observe would have done, by account");
  observed->add_option("-S,--starttime", line.observed.start,
                       "Of runs that ended at this time or later");
  observed->add_option("-E,--endtime", line.observed.end, "Of runs that ended before this time");
  observed->add_option("--market", line.observed.market, "Of this market alone");
  choose(observed, line, [&line] { return show_observed(line.common, line.observed); });

  CLI::App* show_owners_verb =
      add_verb(*show, "owners", "What owners ask for their nodes, and what these earn");
  show_owners_verb->add_option("-S,--starttime", line.since, "Runs that ended since then");
  choose(show_owners_verb, line, [&line] { return show_owners(line.common, line.since); });

  CLI::App* ask_verb = add_verb(app, "ask", "Ask a price for nodes that your account owns");
  ask_verb->add_option("NODES", line.ask.nodes, "The nodes, such as n[1-4]")->required();
  ask_verb->add_option("PRICE", line.ask.price, "Credits for a billing unit and an hour")
      ->required();
  ask_verb->add_option("--tres", line.ask.tres,
                       "Other prices for some TRES, such as gres/gpu:0.60,mem:0.002");
  choose(ask_verb, line, [&line] { return ask(line.common, line.ask); });

  CLI::App* rebid_verb = add_verb(app, "rebid", "Change the bid of a pending job");
  rebid_verb->add_option("JOBID", line.rebid.job, "The job, or ARRAY_TASK")->required();
  rebid_verb->add_option("--budget", line.rebid.budget, "New budget in credits");
  rebid_verb->add_option("--budget-rate", line.rebid.budget_rate, "New budget, credits an hour");
  rebid_verb->add_option("--value", line.rebid.value, "New value MAX:DROP:ZERO");
  choose(rebid_verb, line, [&line] { return rebid(line.common, line.rebid); });
}

void add_fund_verb(CLI::App& app, CommandLine& line) {
  CLI::App* verb = add_verb(app, "fund", "Fund a pot from which your jobs in a partition pay");
  FundArguments& wanted = line.fund;
  verb->add_option("HOST", wanted.hosts, "Partitions, comma separated; then CREDITS to put in");
  verb->add_option("--receipt", wanted.receipt,
                   "Put in what another cluster paid, by this file; - is standard input");
  verb->add_option("--interval", wanted.interval, "Spend it over this time of running");
  verb->add_option("--set-interval", wanted.set_interval,
                   "Spend what is there over this time of running");
  verb->add_option("--tres", wanted.tres, "For this TRES instead of cpu, such as gres/gpu");
  verb->add_option("-A,--account", wanted.account, "The account that pays")
      ->envname("SBATCH_ACCOUNT");
  verb->add_option("--user", wanted.user, "Whose pot to close");
  verb->add_flag("--close", wanted.close, "What is left returns to the account");
  verb->add_flag("--show", wanted.show, "Your pots");
  verb->add_flag("--advise", wanted.advise,
                 "How to spread --rate over HOST:WEIGHT,…; or what --cpus of a HOST need");
  verb->add_option("--rate", wanted.rate, "Credits a second to spend");
  verb->add_option("--min-margin", wanted.min_margin, "Least weight that a credit a second buys");
  verb->add_option("--cpus", wanted.cpus, "So many CPUs of the host");
  verb->add_option("--confidence", wanted.confidence, "In this part of the last periods");
  verb->add_flag("--measured", wanted.measured,
                 "Weights are what a credit brought on the hosts in the last day");
  verb->add_flag("--apply", wanted.apply, "Set the intervals of your pots by that");
  verb->add_option("--every", wanted.every, "Again each so many seconds, with --apply")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{86400}));
  choose(verb, line, [&line] { return fund(line.common, line.fund); });
}

void add_simulate_verb(CLI::App& app, CommandLine& line) {
  CLI::App* verb = add_verb(app, "simulate", "Replay a log of jobs under other rules");
  SimulateArguments& wanted = line.simulate;
  verb->add_option("--swf", wanted.swf,
                   "A log in the standard workload format; - is standard input");
  verb->add_option("--sacct", wanted.sacct, "What sacct --parsable2 printed");
  verb->add_option("--ledger", wanted.ledger, "The bids of a ledger, and how long their jobs ran");
  verb->add_option("--mapreduce", wanted.mapreduce,
                   "A sample of MapReduce jobs of the SWIM project");
  verb->add_option("--generate", wanted.generate,
                   "The workload of a paper: era, abacus, tycoon, contracts or dva, and :JOBS");
  verb->add_option("--fields", wanted.fields, "Its columns, where it does not name them")
      ->delimiter(',');
  verb->add_option("--cluster", wanted.cluster, "The jobs of this cluster alone");
  verb->add_option("--nodes", wanted.nodes, "The machine, such as 144x8 or 100x8:64G,4x32:gpu=4");
  verb->add_option("--slurm-conf", wanted.slurm_conf, "The machine of a slurm.conf");
  verb->add_option("--machine", wanted.machine_file, "The machine in JSON");
  verb->add_flag("--from-slurm", wanted.from_slurm, "The machine that scontrol tells");
  verb->add_option("--node-events", wanted.node_events, "Lines TIME,NODE,fail|drain|resume");
  verb->add_option("--mechanism", wanted.mechanisms, "Whose rules, such as easy,era")
      ->delimiter(',');
  verb->add_option("--market-conf", wanted.market_conf,
                   "Settings of the markets; with it the mechanism \"site\" is as it says");
  verb->add_option("--credits", wanted.credits, "What each account has, instead of enough");
  verb->add_option("--value-per-hour", wanted.value_per_hour,
                   "What a core-hour is worth, such as lognormal(0,0.5)");
  verb->add_option("--slack", wanted.slack, "Deadlines in time limits, such as 2..5");
  verb->add_option("--sigmoid", wanted.sigmoid, "Falling values, DROP:ZERO in time limits");
  verb->add_option("--bids", wanted.bids, "Bids of single jobs: lines JOB,BUDGET[,DEADLINE]");
  verb->add_option("--seed", wanted.seed, "Of all that is drawn")->capture_default_str();
  verb->add_option("--until", wanted.until, "Only so long after the first submission");
  verb->add_option("--first", wanted.first, "Only so many jobs");
  verb->add_option("--cleanup", wanted.cleanup,
                   "Seconds for which a run that has ended holds its cores, in markets");
  verb->add_option("--scale-load", wanted.scale_load, "Submissions come so many times as fast");
  verb->add_option("--jobs", wanted.jobs_file, "Write what became of each job, as CSV");
  verb->add_option("--decisions", wanted.decisions_file, "Write each decision as a line of JSON");
  verb->add_option("--report", wanted.report_file, "Write one page of HTML with charts and tables");
  verb->add_flag("--strict", wanted.strict, "Refuse a log with bad lines");
  verb->add_flag("-v,--verbose", wanted.verbose, "Say how fast it went");
  choose(verb, line, [&line] { return simulate(line.common, line.simulate); });
}

void add_learn_verb(CLI::App& app, CommandLine& line) {
  CLI::App* verb = add_verb(app, "learn", "Teach prices from a log before there are bids");
  LearnArguments& wanted = line.learn;
  verb->add_option("--sacct", wanted.sacct, "What sacct --parsable2 printed");
  verb->add_option("--fields", wanted.fields, "Its columns, where it does not name them")
      ->delimiter(',');
  verb->add_option("--cluster", wanted.cluster, "The jobs of this cluster, for its markets");
  verb->add_option("--value-per-hour", wanted.value_per_hour,
                   "What a billing unit was worth for an hour, such as 0.10..0.60")
      ->capture_default_str();
  verb->add_option("--slack", wanted.slack, "Deadlines in time limits, instead of when jobs ran");
  verb->add_option("--seed", wanted.seed, "Of all that is drawn")->capture_default_str();
  verb->add_flag("--strict", wanted.strict, "Refuse a log with bad lines");
  verb->add_flag("--clear", wanted.clear, "Take back what was taught so");
  verb->add_option(
      "--forget", wanted.forget,
      "Forget the runs of your jobs of this name, from which their utility was learned");
  choose(verb, line, [&line] { return learn(line.common, line.learn); });
}

void add_other_verbs(CLI::App& app, CommandLine& line) {
  add_learn_verb(app, line);
  CLI::App* check_verb = add_verb(app, "check", "Is market.conf right, do the books balance");
  choose(check_verb, line, [&line] { return check(line.common); });

  CLI::App* solve_verb = add_verb(app, "solve", "Run one mechanism on a JSON instance");
  solve_verb->add_option("MECHANISM", line.mechanism, "Its name")->required();
  solve_verb->add_option("FILE", line.file, "The instance; - is standard input");
  choose(solve_verb, line, [&line] { return solve(line.mechanism, line.file); });
}

}  // namespace

int main(int argc, char** argv) {
  market::client::speak_for("smarket", argc, argv);
  CommandLine line;
  CLI::App app("Accounts, prices and bids of a Slurm cluster's market", "smarket");
  app.get_formatter()->column_width(40);
  app.require_subcommand(0, 1);
  app.set_version_flag("-V,--version", "slurm-market " SLURM_MARKET_VERSION);
  app.add_option("--config", line.common.config, "Path of market.conf");
  app.add_flag("--json", line.common.json, "Report as JSON");
  app.footer("Without a verb: the balances of your accounts.");
  add_account_verbs(app, line);
  add_money_verbs(app, line);
  add_market_verbs(app, line);
  add_fund_verb(app, line);
  add_simulate_verb(app, line);
  add_other_verbs(app, line);
  line.run = [&line] { return balance(line.common, ""); };
  try {
    app.parse(argc, argv);
    return with_output_written(line.run());
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return complain({std::string(error.what()) + "; see smarket --help"});
  } catch (const std::exception& error) {
    return complain({error.what()});
  }
}
