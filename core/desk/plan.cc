// SPDX-License-Identifier: GPL-2.0-or-later
// What should run now, with which TRES, and when that changes next: getCurrentAllocation of ERA,
// section 4.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/desk/desk.h"
#include "core/desk/json.h"

namespace market {
namespace {

constexpr std::size_t kMostJobs = 500;  // in an answer

Json tres_json(const Tres& tres) {
  Json amounts = Json::object();
  for (const auto& [name, amount] : tres) amounts[name] = amount;
  return amounts;
}

Json nodes_json(const Placement& placement, const std::vector<Node>& nodes) {
  Json names = Json::array();
  for (const Seat& seat : placement) {
    if (seat.node < nodes.size()) names.push_back(nodes[seat.node].name);
  }
  return names;
}

struct Change {
  Time time = 0;
  std::uint32_t job = 0;
  const char* what = "";
  bool operator<(const Change& other) const {
    return std::tie(time, job) < std::tie(other.time, other.job);
  }
};

}  // namespace

Json Desk::query_plan(const market_submission_t& asker, Time now) {
  if (!asker.is_operator) return failure("the plan is for operators and administrators");
  std::map<std::uint32_t, const Job*> current;
  std::optional<Change> next;
  const auto comes = [&](Change change) {
    if (change.time > now && (!next || change < *next)) next = change;
  };
  for (const auto& [id, job] : site_.jobs.all()) {
    const bool has_place = job.phase == Phase::kConfirmed && job.place.booked;
    const Time end = sold_until(job);
    const bool has_begun = has_place && job.agreed.terms.start <= now;
    if (has_begun && block_of(job) != nullptr) {  // its tasks that run are jobs of their own
      comes({end, id, "ends"});
    } else if (job.phase == Phase::kRunning || has_begun) {
      current.emplace(id, &job);
      comes({job.phase == Phase::kRunning ? job.run->end : end, id, "ends"});
    } else if (has_place) {
      comes({job.agreed.terms.start, id, "starts"});
    }
  }
  Json jobs = Json::array();
  Tres total;
  for (const auto& [id, job] : current) {
    const Request& request = job->agreed.bid.request;
    const bool runs = job->phase == Phase::kRunning;
    for (const auto& [name, amount] : request.demand.tres) total[name] += amount;
    if (jobs.size() == kMostJobs) continue;
    jobs.push_back({{"job", id},
                    {"user", job->user},
                    {"account", job->agreed.bid.account},
                    {"partition", request.partition},
                    {"rule", job->agreed.terms.rule},
                    {"state", runs ? "running" : "due"},
                    {"since", runs ? job->run->start : job->agreed.terms.start},
                    {"until", runs ? job->run->end : job->agreed.terms.start + request.duration},
                    {"nodes", nodes_json(job->place.placement, site_.cluster.nodes())},
                    {"tres", tres_json(request.demand.tres)}});
  }
  Json answer{{"ok", true},
              {"time", now},
              {"jobs", std::move(jobs)},
              {"total", tres_json(total)},
              {"not_shown", current.size() - std::min(current.size(), kMostJobs)}};
  if (next) answer["next"] = {{"time", next->time}, {"job", next->job}, {"what", next->what}};
  return answer;
}

}  // namespace market
