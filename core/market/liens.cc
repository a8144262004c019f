// SPDX-License-Identifier: GPL-2.0-or-later
// Liens that the books have, and the jobs they are for: after a start, after the books were away,
// and when another file has taken their place.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/market/market.h"

namespace market {
namespace {

constexpr Time kOrphanLife = 60;              // seconds until a lien without a job returns
constexpr std::uint64_t kPassesToShowUp = 3;  // in which its job could have been seen
constexpr std::size_t kLiensInAnAnswer = 500;

const ledger::SegmentKey* run_of(const ledger::Operation& operation) {
  if (const auto* place = std::get_if<ledger::PlaceLien>(&operation)) return &place->segment.key;
  if (const auto* change = std::get_if<ledger::ChangeLien>(&operation)) return &change->segment.key;
  if (const auto* settle = std::get_if<ledger::Settle>(&operation)) return &settle->segment.key;
  if (const auto* returned = std::get_if<ledger::VoidLien>(&operation)) return &returned->key;
  return nullptr;
}

}  // namespace

// A bid is known by its token; from before tokens were kept, by who pays and who asked.
bool is_of_bid(const ledger::Segment& lien, const Job& job) {
  if (lien.uid != job.bid.uid) return false;
  if (!lien.key.bid.empty()) return lien.key.bid == job.token;
  return lien.account == job.bid.account && lien.key.submitted >= job.bid_made;
}

const ledger::OpenLien* Market::lien_of(const Job& job) const {
  ledger::SegmentKey key = run_key(cluster_name_, job);
  auto lien = open_liens_.find(key.text());
  if (lien == open_liens_.end()) {
    key.bid.clear();
    lien = open_liens_.find(key.text());
  }
  const bool is_its = lien != open_liens_.end() && is_of_bid(lien->second.segment, job);
  return is_its ? &lien->second : nullptr;
}

// The jobs that the market knows keep their liens; the others are for jobs yet to be seen, or for
// none.
void Market::take_open_liens(std::vector<ledger::OpenLien> liens) {
  open_liens_.clear();
  for (ledger::OpenLien& lien : liens) {
    std::string key = lien.segment.key.text();
    open_liens_.emplace(std::move(key), std::move(lien));
  }
  std::set<std::string> queued;
  for (const Queued& entry : queue_) {
    if (const ledger::SegmentKey* key = run_of(entry.operation)) queued.insert(key->text());
  }
  for (auto entry = jobs_.begin(); entry != jobs_.end();)
    entry = reconcile(entry->second, queued) ? std::next(entry) : jobs_.erase(entry);
  liens_read_ = recovering_ = true;
  recovering_since_ = 0;
}

// Books that were away, or that are an older copy, are made to say what was agreed. Returns false
// of a job whose bill they do not have: it is to be made again from its note.
bool Market::reconcile(Job& job, const std::set<std::string>& queued) {
  const ledger::OpenLien* found = lien_of(job);
  const std::string key = found != nullptr ? found->segment.key.text() : std::string();
  const bool is_decided = queued.contains(run_key(cluster_name_, job).text());
  if (job.phase == Phase::kEnded && found != nullptr && !is_decided) return false;
  if (!is_decided && job.phase != Phase::kEnded) {
    const Money wanted = job.lien;
    const std::string account = job.lien_account;
    job.lien = found != nullptr ? found->segment.quoted : Money();
    if (found != nullptr) job.lien_account = found->segment.account;
    if (wanted == Money()) {
      void_lien(job, "nothing is set aside for it");
    } else if (wanted != job.lien || account != job.lien_account) {
      log_(LogLevel::kInfo, fmt::format("job {}: its lien of {} on {} is not in the books: it is "
                                        "set aside again",
                                        job.id, wanted.to_string(), account));
      set_lien(job, wanted);
    }
  }
  open_liens_.erase(key);
  return true;
}

void Market::claim_open_lien(Job& job, bool settled) {
  const ledger::OpenLien* lien = lien_of(job);
  if (lien == nullptr) return;
  job.lien = lien->segment.quoted;
  job.lien_account = lien->segment.account;
  if (settled) {  // the note is of the run before
    job.terms.start = lien->segment.planned_start;
    job.terms.promised_end = lien->segment.promised_end;
  }
  open_liens_.erase(lien->segment.key.text());
}

// Liens whose job did not show up since they were read.
void Market::void_orphans(Time now) {
  if (!recovering_) return;
  if (recovering_since_ == 0) {
    recovering_since_ = now;
    recovering_from_ = pass_number_ - 1;
  }
  if (pass_number_ - recovering_from_ < kPassesToShowUp || now - recovering_since_ < kOrphanLife)
    return;
  recovering_ = false;
  for (const auto& [key, lien] : open_liens_) {
    log_(LogLevel::kInfo, fmt::format("lien of {} on {} has no job any more: it returns", key,
                                      lien.segment.account));
    Queued queued;
    queued.operation = ledger::VoidLien{lien.segment.key, "the job is gone"};
    queued.deltas.emplace_back(lien.segment.account, Delta{Money(), Money() - lien.segment.quoted});
    enqueue(std::move(queued));
  }
  open_liens_.clear();
}

// What is set aside for live jobs, for a comparison with the books: in the order of job numbers,
// those above "after", so many that the answer fits.
nlohmann::ordered_json Market::query_liens(const nlohmann::ordered_json& ask,
                                           const market_submission_t& asker) const {
  using Json = nlohmann::ordered_json;
  if (!asker.is_operator) return Json{{"ok", false}, {"error", "only operators may see all liens"}};
  const auto given = ask.find("after");
  const auto after = given != ask.end() && given->is_number_unsigned() ? given->get<std::uint64_t>()
                                                                       : std::uint64_t{0};
  std::vector<const Job*> jobs;
  for (const auto& [id, job] : jobs_) {
    if (id > after && job.lien != Money()) jobs.push_back(&job);
  }
  std::sort(jobs.begin(), jobs.end(), [](const Job* a, const Job* b) { return a->id < b->id; });
  Json liens = Json::array();
  for (std::size_t i = 0; i < std::min(jobs.size(), kLiensInAnAnswer); ++i) {
    liens.push_back(Json{{"job", jobs[i]->id},
                         {"bid", jobs[i]->token},
                         {"restart", jobs[i]->restart},
                         {"account", jobs[i]->lien_account},
                         {"lien", jobs[i]->lien.to_string()}});
  }
  return Json{{"ok", true},
              {"liens", liens},
              {"more", jobs.size() > kLiensInAnAnswer},
              {"recovering", recovering_},
              {"text", fmt::format("{} live jobs have a lien", jobs.size())}};
}

}  // namespace market
