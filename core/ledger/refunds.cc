// SPDX-License-Identifier: GPL-2.0-or-later
// Refunds by hand. Slurm gives job numbers again (MaxJobId reached, state lost), so one number may
// stand for jobs of several users: a refund is for one submission alone.
#include <fmt/format.h>

#include <algorithm>

#include "core/ledger/books.h"
#include "core/util/slurm_time.h"

namespace market::ledger {
namespace {

struct ChargedRun {
  std::int64_t row = 0;
  SegmentKey key;
  std::uint32_t uid = 0;
  std::int64_t account = 0;
  std::string account_name, user;
  Time end = 0;
  Money left;  ///< charged and not refunded
};

/// The runs of one bid under one account, oldest first.
using SubmissionRuns = std::vector<ChargedRun>;

// What was bought and not used is of the bid too ("TOKEN.TIME").
std::string bid_of(const SegmentKey& key) {
  return key.bid.substr(0, key.bid.find('.'));
}

// Of runs from before bids were kept, the next submission begins where the restarts do.
bool belongs_to(const ChargedRun& run, const ChargedRun& before) {
  return bid_of(run.key) == bid_of(before.key) && run.uid == before.uid &&
         run.account == before.account &&
         (!run.key.bid.empty() || run.key.restart > before.key.restart);
}

std::vector<SubmissionRuns> charged_submissions(Database& database, const std::string& cluster,
                                                std::uint32_t job_id) {
  Statement query = database.prepare(
      "SELECT segment.id, submitted, restart, bid, uid, account.id, account.name, user, \"end\", "
      "charged - refunded FROM segment JOIN account ON account.name = segment.account "
      "WHERE cluster = ? AND job_id = ? AND status = 'settled' ORDER BY submitted, segment.id");
  query.bind(cluster).bind(std::int64_t{job_id});
  std::vector<SubmissionRuns> submissions;
  while (query.step()) {
    ChargedRun run{query.integer(0),
                   {cluster, job_id, query.integer(1), static_cast<std::uint32_t>(query.integer(2)),
                    query.text(3)},
                   static_cast<std::uint32_t>(query.integer(4)),
                   query.integer(5),
                   query.text(6),
                   query.text(7),
                   query.integer(8),
                   Money::from_micro(query.integer(9))};
    const auto same =
        std::find_if(submissions.rbegin(), submissions.rend(),
                     [&run](const SubmissionRuns& runs) { return belongs_to(run, runs.back()); });
    if (same == submissions.rend()) {
      submissions.push_back({std::move(run)});
    } else {
      same->push_back(std::move(run));
    }
  }
  return submissions;
}

Submission described(const SubmissionRuns& runs) {
  Submission submission;
  submission.submitted = runs.front().key.submitted;
  submission.user = runs.front().user;
  submission.account = runs.front().account_name;
  for (const ChargedRun& run : runs) submission.refundable += run.left;
  return submission;
}

/// The one that was asked for, or the newest.
const SubmissionRuns& chosen(const std::vector<SubmissionRuns>& submissions,
                             const RefundRequest& request) {
  const auto meant =
      std::find_if(submissions.rbegin(), submissions.rend(), [&](const SubmissionRuns& runs) {
        return request.submitted == 0 ||
               std::any_of(runs.begin(), runs.end(), [&](const ChargedRun& run) {
                 return run.key.submitted == request.submitted;
               });
      });
  if (meant != submissions.rend()) return *meant;
  if (submissions.empty())
    throw Failure{fmt::format("no run of job {} was charged", request.job_id)};
  std::vector<std::string> times;
  for (const SubmissionRuns& runs : submissions)
    times.push_back(format_time(runs.front().key.submitted));
  throw Failure{fmt::format("job {}: no run of it that was submitted {} was charged; there are {}",
                            request.job_id, format_time(request.submitted),
                            fmt::join(times, ", "))};
}

void refund_run(Database& database, const ChargedRun& run, Money amount, const std::string& note,
                Time now) {
  const std::int64_t number = count_transfers(database, run.row, Kind::kRefund) + 1;
  post(database, {.key = numbered_key(run.key, "refund", number),
                  .time = now,
                  .kind = Kind::kRefund,
                  .debit = kRevenue,
                  .credit = run.account,
                  .amount = amount,
                  .resolves = std::nullopt,
                  .segment = run.row,
                  .note = note});
  take_back(database, run.key, number, amount, run.left, now);
  database.prepare("UPDATE segment SET refunded = refunded + ? WHERE id = ?")
      .bind(amount.micro())
      .bind(run.row)
      .run();
}

}  // namespace

std::vector<Submission> read_submissions(Database& database, const std::string& cluster,
                                         std::uint32_t job_id) {
  std::vector<Submission> submissions;
  for (const SubmissionRuns& runs : charged_submissions(database, cluster, job_id))
    submissions.push_back(described(runs));
  return submissions;
}

Submission refund_job(Database& database, const RefundRequest& request, Time now) {
  const auto submissions = charged_submissions(database, request.cluster, request.job_id);
  const SubmissionRuns& runs = chosen(submissions, request);
  Submission submission = described(runs);
  Money in_window;
  for (const ChargedRun& run : runs) {
    if (now - run.end <= request.window) in_window += run.left;
  }
  const std::string which =
      submissions.size() == 1 ? fmt::format("job {}", request.job_id)
                              : fmt::format("job {} submitted {} ({})", request.job_id,
                                            format_time(submission.submitted), submission.account);
  if (request.amount > submission.refundable) {
    throw Failure{fmt::format("{}: {} asked, {} refundable", which, request.amount.to_string(),
                              submission.refundable.to_string())};
  }
  if (request.amount > in_window && !request.force) {
    throw Failure{fmt::format(
        "{}: {} asked, {} refundable within the window of {} days, {} more with --force", which,
        request.amount.to_string(), in_window.to_string(), request.window / 86400,
        (submission.refundable - in_window).to_string())};
  }
  Money left = request.amount;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    const bool late = now - run->end > request.window;
    const Money part = std::min(left, run->left);
    if (part <= Money() || (late && !request.force)) continue;
    refund_run(database, *run, part, late ? "forced: " + request.note : request.note, now);
    left -= part;
  }
  submission.refundable -= request.amount;
  return submission;
}

}  // namespace market::ledger
