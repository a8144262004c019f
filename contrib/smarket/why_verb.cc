// SPDX-License-Identifier: GPL-2.0-or-later
// why: the market explains the jobs that it knows; of those that are over the books tell.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "contrib/client/bill.h"
#include "contrib/client/fields.h"
#include "contrib/client/run_json.h"
#include "contrib/smarket/answers.h"
#include "contrib/smarket/job_name.h"
#include "contrib/smarket/slurm_records.h"
#include "contrib/smarket/verbs.h"
#include "core/util/slurm_time.h"
#include "core/words/phrases.h"

namespace market::smarket {
namespace {

using ledger::Segment;

/// The number in front of the task's.
std::uint32_t job_number(const std::string& job) {
  std::uint32_t number = 0;
  std::from_chars(job.data(), job.data() + std::min(job.find_first_of("_+"), job.size()), number);
  return number;
}

/// The runs of a job, or of a task, on this cluster that are over.
Result<std::vector<Segment>> runs_of(const std::string& job, const std::string& cluster) {
  ledger::SegmentFilter filter;
  filter.jobs = {job_number(job)};
  auto runs = client::ask_runs(filter);
  if (!runs) return runs;
  std::erase_if(*runs, [&](const Segment& run) {
    const bool named = client::job_id_text(run) == job || std::to_string(run.key.job_id) == job ||
                       std::to_string(run.array_job_id) == job;
    return run.key.cluster != cluster || !named;
  });
  return runs;
}

std::string sentence_of(const Segment& run) {
  std::string text = client::job_id_text(run);
  if (run.state == "UNUSED")
    return fmt::format(
        "{} did not use what it bought from {} to {}; charged {}, on {} ({}); {}.  "
        "[ENDED]",
        text, format_time(run.start), format_time(run.end), amount_text(run.charged), run.account,
        run.mechanism, run.note);
  if (run.key.restart > 0) text += fmt::format(" (restart {})", run.key.restart);
  text += fmt::format(" has ended: {} at {}", run.state, format_time(run.end));
  if (run.start != 0) text += fmt::format(" after {}", format_duration(run.elapsed));
  text += fmt::format("; charged {} of at most {}, on {} ({})", amount_text(run.charged),
                      enough_text(run.quoted), run.account, run.mechanism);
  if (run.refunded != Money()) text += fmt::format("; refunded {}", amount_text(run.refunded));
  if (!run.note.empty()) text += "; " + run.note;
  return text + ".  [ENDED]";
}

int show_ended(const Common& common, const std::vector<Segment>& runs) {
  if (common.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Segment& run : runs) list.push_back(client::json_of(run));
    print_json(nlohmann::json{{"ok", true}, {"code", "ENDED"}, {"runs", list}});
    return kSuccess;
  }
  for (const Segment& run : runs) fmt::print("{}\n", sentence_of(run));
  return kSuccess;
}

/// A job of the asking user that Slurm has and the market has not. Fails with `error`, the market's,
/// when Slurm does not have it either.
int show_unbid(const Common& common, const std::string& job, const std::string& error) {
  const OwnJob where = own_job_in_slurmctld(job_number(job));
  if (where == OwnJob::kNone) return complain({error});
  if (common.json) {
    print_json(nlohmann::json{{"ok", true}, {"code", "UNBID"}, {"job", job}});
    return kSuccess;
  }
  const char* const then = where == OwnJob::kPending
                               ? "Slurm alone decides when it starts, squeue shows its reason"
                           : where == OwnJob::kRunning ? "it runs and is not billed"
                                                       : "it has ended and was not billed";
  fmt::print("{} carries no bid that the market knows: {}.  [UNBID]\n", job, then);
  return kSuccess;
}

}  // namespace

int why(const Common& common, const std::string& job) {
  const auto name = job_name_of(job);
  if (!name) return complain(name.error());
  const auto answer = client::hear_market({{"verb", "why"}, {"job", *name}});
  if (!answer) return complain(answer.error());
  if (answer->value("ok", false)) return show_answer(common, answer);
  const std::string error = answer->value("error", std::string("the market gives no reason"));
  if (!answer->value("over_or_unknown", false)) return complain({error});
  const auto runs = runs_of(*name, answer->value("cluster", std::string()));
  if (!runs) return complain(runs.error());
  return runs->empty() ? show_unbid(common, *name, error) : show_ended(common, *runs);
}

}  // namespace market::smarket
