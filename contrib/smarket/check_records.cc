// SPDX-License-Identifier: GPL-2.0-or-later
// smarket check: what is set aside and charged against what the market and Slurm say of the jobs.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "contrib/smarket/answers.h"
#include "contrib/smarket/finding.h"
#include "contrib/smarket/locate.h"
#include "contrib/smarket/slurm_records.h"

namespace market::smarket {
namespace {

constexpr Time kRecent = 86400;
constexpr Time kUnwritten = 10;  // seconds by when an end is in the books and in slurmdbd
constexpr int kLooks = 4;        // a difference in one look only is work in progress
constexpr std::chrono::seconds kBetweenLooks{1};
constexpr std::size_t kMostFaultsShown = 5;

using Lines = std::vector<std::string>;

std::string shown(const Lines& lines) {
  const std::size_t count = std::min(lines.size(), kMostFaultsShown);
  std::string text = fmt::format("{}", fmt::join(lines.begin(), lines.begin() + count, "; "));
  if (lines.size() > count) text += fmt::format("; and {} more", lines.size() - count);
  return text;
}

struct MarketsLiens {
  std::vector<ledger::LiveLien> liens;
  bool recovering = false;
};

Result<MarketsLiens> liens_of_market() {
  MarketsLiens all;
  std::uint32_t after = 0;
  for (bool more = true; more;) {
    const auto answer = ask_market({{"verb", "liens"}, {"after", after}});
    if (!answer) return tl::make_unexpected(answer.error());
    all.recovering = answer->value("recovering", false);
    more = answer->value("more", false);
    for (const auto& lien : answer->value("liens", nlohmann::json::array())) {
      const auto amount = Money::parse(lien.value("lien", std::string()));
      if (!amount) return fail("the market's answer cannot be read");
      after = lien.value("job", after);
      all.liens.push_back({after, lien.value("restart", 0u), lien.value("bid", std::string()),
                           lien.value("account", std::string()), *amount});
    }
  }
  return all;
}

/// Differences of one look, and what there was to compare.
struct Look {
  Lines differences;
  std::size_t liens = 0;
  bool recovering = false;
};

Result<Look> look(const ledger::Ledger& books, const std::string& cluster) {
  const auto open = books.open_liens(cluster);
  if (!open) return tl::make_unexpected(open.error());
  const auto market = liens_of_market();
  if (!market) return tl::make_unexpected(market.error());
  const auto slurm = jobs_in_slurmctld();
  if (!slurm) return tl::make_unexpected(slurm.error());
  Look seen{ledger::compare_liens(*open, market->liens), open->size(), market->recovering};
  const Lines gone = ledger::liens_without_job(*open, *slurm);
  seen.differences.insert(seen.differences.end(), gone.begin(), gone.end());
  return seen;
}

/// What two looks in a row both found: entries on their way into the books are none.
Lines in_both(const Lines& before, const Lines& now) {
  Lines both;
  std::copy_if(now.begin(), now.end(), std::back_inserter(both), [&](const std::string& line) {
    return std::find(before.begin(), before.end(), line) != before.end();
  });
  return both;
}

Finding check_liens(const ledger::Ledger& books, const std::string& cluster) {
  std::optional<Lines> before;
  Look seen;
  for (int number = 0; number < kLooks; ++number) {
    if (number > 0) std::this_thread::sleep_for(kBetweenLooks);
    auto now = look(books, cluster);
    if (!now) return {"liens", Verdict::kSkipped, now.error().text};
    seen = std::move(*now);
    before = before ? in_both(*before, seen.differences) : seen.differences;
    if (before->empty()) break;
  }
  if (before->empty()) {
    return {"liens", Verdict::kOk,
            fmt::format("{} open, each with a live job, and no job without", seen.liens)};
  }
  if (seen.recovering) {
    return {"liens", Verdict::kWarning,
            "the books were opened within the last minute, and liens without a job return soon: " +
                shown(*before)};
  }
  return {"liens", Verdict::kFault, shown(*before)};
}

Finding check_charges(const ledger::Ledger& books, const std::string& cluster) {
  const Time now = std::time(nullptr);
  ledger::SegmentFilter recent;
  recent.since = now - kRecent;
  recent.until = now - kUnwritten;
  auto runs = books.segments(recent);
  if (!runs) return {"charges", Verdict::kFault, runs.error().text};
  std::erase_if(*runs, [&](const ledger::Segment& run) {
    return run.key.cluster != cluster || run.state == "UNUSED";  // which Slurm does not know
  });
  const bool has_database = has_slurmdbd();
  const auto slurm = has_database ? runs_in_slurmdbd(cluster, now - kRecent) : jobs_in_slurmctld();
  if (!slurm) return {"charges", Verdict::kSkipped, slurm.error().text};
  std::size_t compared = 0;
  const Lines differences = ledger::compare_charges(*runs, *slurm, has_database, compared);
  const auto charged = std::count_if(
      runs->begin(), runs->end(), [](const ledger::Segment& run) { return run.charged > Money(); });
  if (!differences.empty()) return {"charges", Verdict::kFault, shown(differences)};
  std::string text = fmt::format("{} of {} runs charged within a day compared with {}", compared,
                                 charged, has_database ? "slurmdbd" : "slurmctld's memory");
  if (!has_database)
    text += ", which forgets a job after MinJobAge; there is no slurmdbd that would know all";
  return {"charges", Verdict::kOk, text};
}

}  // namespace

std::vector<Finding> check_records(const Common& common) {
  const auto status = ask_market({{"verb", "status"}});
  if (!status || !status->value("usable", false))
    return {{"records", Verdict::kSkipped, "the market cannot be asked about its jobs"}};
  const auto books = open_ledger(common, ledger::Mode::kReadOnly);
  if (!books) return {{"records", Verdict::kSkipped, books.error().text}};
  const std::string cluster = status->value("cluster", std::string());
  return {check_liens(*books, cluster), check_charges(*books, cluster)};
}

}  // namespace market::smarket
