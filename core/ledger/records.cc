// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/ledger/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>

namespace market::ledger {
namespace {

constexpr Time kSkew = 1;  // seconds by which two looks at the clock differ

using RunId = std::tuple<std::uint32_t, std::uint32_t, std::string>;  // job, restart, bid

RunId id_of(const Segment& run) {
  return {run.key.job_id, run.key.restart, run.key.bid};
}

std::string name_of(const RunId& run) {
  return fmt::format("job {} (run {})", std::get<0>(run), std::get<1>(run));
}

/// What the market's bill in AdminComment says was charged; nothing when the text is the site's.
std::optional<Money> charged_in(const std::string& admin_comment) {
  if (!admin_comment.starts_with("{\"market\":{")) return std::nullopt;
  const auto whole = nlohmann::json::parse(admin_comment, nullptr, false);
  if (!whole.is_object() || !whole["market"].is_object()) return std::nullopt;
  const auto charged = whole["market"].find("charged");
  if (charged == whole["market"].end() || !charged->is_string()) return std::nullopt;
  const auto money = Money::parse(charged->get<std::string>());
  return money ? std::optional<Money>(*money) : std::nullopt;
}

const SlurmRun* find_run(const Segment& run, const SlurmRuns& slurm) {
  const auto [first, last] = slurm.equal_range(run.key.job_id);
  const SlurmRun* found = nullptr;
  for (auto entry = first; entry != last; ++entry) {
    const SlurmRun& candidate = entry->second;
    if (std::abs(candidate.start - run.start) <= kSkew && candidate.start != 0) return &candidate;
    if (candidate.submitted == run.key.submitted) found = &candidate;
  }
  return found;
}

}  // namespace

std::vector<std::string> compare_liens(const std::vector<OpenLien>& books,
                                       const std::vector<LiveLien>& market) {
  std::map<RunId, const Segment*> open;
  for (const OpenLien& lien : books) open.emplace(id_of(lien.segment), &lien.segment);
  std::vector<std::string> faults;
  for (const LiveLien& live : market) {
    const RunId id{live.job_id, live.restart, live.bid};
    auto found = open.find(id);
    if (found == open.end()) found = open.find({live.job_id, live.restart, ""});
    if (found == open.end()) {
      faults.push_back(fmt::format("{}: {} on {} should be set aside, the books have no lien",
                                   name_of(id), live.amount.to_string(), live.account));
      continue;
    }
    const Segment& lien = *found->second;
    if (lien.quoted != live.amount || lien.account != live.account) {
      faults.push_back(fmt::format("{}: {} on {} should be set aside, in the books it is {} on {}",
                                   name_of(id), live.amount.to_string(), live.account,
                                   lien.quoted.to_string(), lien.account));
    }
    open.erase(found);
  }
  for (const auto& [id, lien] : open) {
    faults.push_back(fmt::format("{}: {} on {} is set aside, but the market knows no such live job",
                                 name_of(id), lien->quoted.to_string(), lien->account));
  }
  return faults;
}

std::vector<std::string> liens_without_job(const std::vector<OpenLien>& books,
                                           const SlurmRuns& slurm) {
  std::vector<std::string> faults;
  for (const OpenLien& lien : books) {
    const auto [first, last] = slurm.equal_range(lien.segment.key.job_id);
    if (std::any_of(first, last, [](const auto& entry) { return entry.second.is_live; })) continue;
    faults.push_back(fmt::format("{}: {} on {} is set aside, but Slurm has no such live job",
                                 name_of(id_of(lien.segment)), lien.segment.quoted.to_string(),
                                 lien.segment.account));
  }
  return faults;
}

std::vector<std::string> compare_charges(const std::vector<Segment>& books, const SlurmRuns& slurm,
                                         bool complete, std::size_t& compared) {
  std::vector<std::string> faults;
  compared = 0;
  // The bill of a run stays in AdminComment when the next one of the same bid never begins.
  std::set<std::tuple<std::uint32_t, std::string, Money>> bills;
  for (const Segment& run : books) bills.emplace(run.key.job_id, run.key.bid, run.charged);
  for (const Segment& run : books) {
    const SlurmRun* found = find_run(run, slurm);
    const bool is_place = run.note.starts_with(kPlaceNote);  // its job never starts
    const bool charged_for_running = run.charged > Money() && run.start != 0 && !is_place;
    const std::string what = fmt::format("{}: charged {} on {}", name_of(id_of(run)),
                                         run.charged.to_string(), run.account);
    if (found == nullptr) {
      if (complete && charged_for_running)
        faults.push_back(what + ", but Slurm's records have no such run");
      continue;
    }
    compared += run.charged > Money();
    if (charged_for_running && found->start == 0)
      faults.push_back(what + ", but Slurm's records say that it never ran");
    const auto told = charged_in(found->admin_comment);
    const bool same_run = found->submitted == run.key.submitted && !found->is_live;
    if (told && same_run && !bills.contains({run.key.job_id, run.key.bid, *told})) {
      faults.push_back(fmt::format("{}, but its AdminComment says {}", what, told->to_string()));
    }
  }
  return faults;
}

}  // namespace market::ledger
