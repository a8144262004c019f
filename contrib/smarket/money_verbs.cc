// SPDX-License-Identifier: GPL-2.0-or-later
// deposit, withdraw, transfer, refund: written into the ledger by who may; the market sees them
// within one period.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>

#include "contrib/smarket/locate.h"
#include "contrib/smarket/verbs.h"
#include "core/util/slurm_time.h"

namespace market::smarket {
namespace {

using ledger::Ledger;

Result<ledger::Balance> balance_of(const Ledger& books, const std::string& account) {
  const auto accounts = books.accounts();
  if (!accounts) return tl::make_unexpected(accounts.error());
  const auto same = [&](const ledger::AccountInfo& info) {
    return info.balance.account.size() == account.size() &&
           std::equal(account.begin(), account.end(), info.balance.account.begin(),
                      [](char a, char b) { return std::tolower(a) == std::tolower(b); });
  };
  const auto found = std::find_if(accounts->begin(), accounts->end(), same);
  if (found == accounts->end()) return fail(fmt::format("account {}: not found", account));
  return found->balance;
}

/// Prints what was done and the balances after it; in JSON also `more`.
int report(const Common& common, const Ledger& books, const std::string& done,
           const std::vector<std::string>& accounts, const nlohmann::json& more = {}) {
  nlohmann::json list = nlohmann::json::array();
  std::string line = done;
  for (const std::string& account : accounts) {
    const auto balance = balance_of(books, account);
    if (!balance) return complain(balance.error());
    list.push_back({{"account", balance->account},
                    {"balance", balance->posted.to_string()},
                    {"liens", balance->liens.to_string()},
                    {"available", balance->available().to_string()}});
    line += fmt::format("; {}: balance {}, available {}", balance->account,
                        balance->posted.to_string(), balance->available().to_string());
  }
  if (common.json) {
    nlohmann::json answer{{"done", done}, {"accounts", list}};
    if (more.is_object()) answer.update(more);
    print_json(answer);
  } else {
    fmt::print("{}\n", line);
  }
  return kSuccess;
}

/// Opens the books for writing and reads the amount; `change` does the rest.
template <class Change>
int with_books(const Common& common, const std::string& credits, Change&& change) {
  const auto amount = Money::parse(credits);
  if (!amount) return complain({"CREDITS: " + amount.error().text});
  auto books = open_ledger(common, ledger::Mode::kReadWrite);
  if (!books) return complain(books.error());
  return change(*books, *amount);
}

struct JobId {
  std::uint32_t job = 0;
  bool is_task = false;
  std::uint32_t task = 0;
};

Result<std::uint32_t> number_of(const std::string& text) {
  constexpr std::size_t kMostDigits = 9;
  const bool digits =
      !text.empty() && text.size() <= kMostDigits &&
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits)
    return fail(
        "JOBID: a job such as 1234, a task such as 12_3, or a component such as 12+1, is allowed");
  return static_cast<std::uint32_t>(std::stoul(text));
}

Result<JobId> job_of(const std::string& text) {
  const std::size_t bar = text.find_first_of("_+");
  const auto job = number_of(text.substr(0, bar));
  if (!job) return tl::make_unexpected(job.error());
  if (bar == text.npos) return JobId{*job, false, 0};
  const auto task = number_of(text.substr(bar + 1));
  if (!task) return tl::make_unexpected(task.error());
  return JobId{*job, true, text[bar] == '+' ? ledger::kComponent | *task : *task};
}

/// When the submission was made that `--submit` names; 0 without it.
Result<Time> submit_time(const RefundArguments& arguments) {
  if (arguments.submit.empty()) return 0;
  const auto time = parse_time(arguments.submit, std::time(nullptr));
  if (!time) return fail(fmt::format("--submit={}: {}", arguments.submit, time.error().text));
  return *time;
}

/// The newest run of what was named, or the newest of those that were submitted then. Numbers come
/// again, so an array and a job may have had the same one.
Result<ledger::SegmentKey> find_run(const Ledger& books, const RefundArguments& arguments,
                                    Time submitted) {
  const auto wanted = job_of(arguments.job);
  if (!wanted) return tl::make_unexpected(wanted.error());
  ledger::SegmentFilter filter;
  filter.jobs = {wanted->job};
  filter.open_too = true;  // the newest may not have been charged yet: then it is none before it
  const auto segments = books.segments(filter);
  if (!segments) return tl::make_unexpected(segments.error());
  const ledger::Segment* newest = nullptr;
  std::set<std::string> clusters;
  for (const ledger::Segment& segment : *segments) {
    if (!arguments.cluster.empty() && segment.key.cluster != arguments.cluster) continue;
    if (submitted != 0 && segment.key.submitted != submitted) continue;
    if (segment.state == "UNUSED") continue;  // of a run that is there too
    if (wanted->is_task &&
        (segment.array_job_id != wanted->job || segment.array_task_id != wanted->task)) {
      continue;
    }
    // The first component has the number of all of them.
    if (!wanted->is_task && segment.is_component() && segment.key.job_id != wanted->job) continue;
    clusters.insert(segment.key.cluster);
    if (newest == nullptr || segment.key.submitted >= newest->key.submitted) newest = &segment;
  }
  const std::string when =
      submitted == 0 ? "" : fmt::format(" that was submitted {}", format_time(submitted));
  if (newest == nullptr) {
    return fail(fmt::format("job {}: no run of it{} was billed; sbill -j {} shows all",
                            arguments.job, when, wanted->job));
  }
  if (clusters.size() > 1) {
    return fail(
        fmt::format("job {}: several clusters have one; name it with --cluster", arguments.job));
  }
  if (!wanted->is_task && newest->array_job_id == wanted->job && !newest->is_component()) {
    return fail(fmt::format("job {0}: an array; name a task, such as {0}_{1}", arguments.job,
                            newest->array_task_id));
  }
  return newest->key;
}

/// Tells of other submissions under the same number, so that nobody takes one for the other.
std::string others_text(const Ledger& books, const ledger::SegmentKey& run,
                        const ledger::Submission& refunded) {
  const auto submissions = books.submissions(run.cluster, run.job_id);
  std::string text;
  if (!submissions) return text;
  for (const ledger::Submission& other : *submissions) {
    if (other.submitted == refunded.submitted && other.account == refunded.account) continue;
    text +=
        fmt::format("; not that of {}: --submit={}", other.account, format_time(other.submitted));
  }
  return text;
}

}  // namespace

int deposit(const Common& common, const MoneyArguments& arguments) {
  return with_books(common, arguments.credits, [&](Ledger& books, Money amount) {
    const auto done = books.deposit(arguments.account, amount, arguments.note, std::time(nullptr));
    if (!done) return complain(done.error());
    return report(common, books,
                  fmt::format("deposited {} to {}", amount.to_string(), arguments.account),
                  {arguments.account});
  });
}

int withdraw(const Common& common, const MoneyArguments& arguments) {
  return with_books(common, arguments.credits, [&](Ledger& books, Money amount) {
    const auto done = books.withdraw(arguments.account, amount, arguments.note, std::time(nullptr));
    if (!done) return complain(done.error());
    return report(common, books,
                  fmt::format("withdrew {} from {}", amount.to_string(), arguments.account),
                  {arguments.account});
  });
}

int transfer(const Common& common, const MoneyArguments& arguments) {
  if (arguments.receipt) return send_credits(common, arguments);
  if (!arguments.again.empty()) return complain({"--again: with --receipt alone"});
  if (arguments.to.find(':') != std::string::npos)
    return complain({"TO " + arguments.to + ": another cluster is paid with --receipt"});
  return with_books(common, arguments.credits, [&](Ledger& books, Money amount) {
    const auto done =
        books.transfer(arguments.account, arguments.to, amount, arguments.note, std::time(nullptr));
    if (!done) return complain(done.error());
    return report(common, books,
                  fmt::format("transferred {} from {} to {}", amount.to_string(), arguments.account,
                              arguments.to),
                  {arguments.account, arguments.to});
  });
}

int refund(const Common& common, const RefundArguments& arguments) {
  const auto config = find_config(common);
  if (!config) return complain(config.error());
  return with_books(common, arguments.credits, [&](Ledger& books, Money amount) {
    const auto submitted = submit_time(arguments);
    if (!submitted) return complain(submitted.error());
    const auto run = find_run(books, arguments, *submitted);
    if (!run) return complain(run.error());
    const auto done =
        books.refund(run->cluster, run->job_id, amount, config->refund_window, arguments.force,
                     arguments.note, std::time(nullptr), run->submitted);
    if (!done) return complain(done.error());
    return report(common, books,
                  fmt::format("refunded {} of job {}, submitted {} by {}{}", amount.to_string(),
                              arguments.job, format_time(done->submitted), done->user,
                              others_text(books, *run, *done)),
                  {done->account},
                  {{"job", arguments.job}, {"submitted", done->submitted}, {"user", done->user}});
  });
}

}  // namespace market::smarket
