// SPDX-License-Identifier: GPL-2.0-or-later
// Liens that the books have, and the jobs they are for: after a start, after the books were away,
// and when another file has taken their place.
#include <fmt/format.h>

#include "core/market/accounts.h"

namespace market {
namespace {

constexpr Time kOrphanLife = 60;              // seconds until a lien without a job returns
constexpr std::uint64_t kPassesToShowUp = 3;  // in which its job could have been seen

const ledger::SegmentKey* run_of(const ledger::Operation& operation) {
  if (const auto* place = std::get_if<ledger::PlaceLien>(&operation)) return &place->segment.key;
  if (const auto* change = std::get_if<ledger::ChangeLien>(&operation)) return &change->segment.key;
  if (const auto* settle = std::get_if<ledger::Settle>(&operation)) return &settle->segment.key;
  if (const auto* returned = std::get_if<ledger::VoidLien>(&operation)) return &returned->key;
  if (const auto* offer = std::get_if<ledger::OfferRest>(&operation))
    return &offer->rest.segment.key;
  return nullptr;
}

}  // namespace

// A bid is known by its token; from before tokens were kept, by who pays and who asked.
bool is_of_bid(const ledger::Segment& lien, const Job& job) {
  if (lien.uid != job.agreed.bid.uid) return false;
  if (!lien.key.bid.empty()) return lien.key.bid == job.token;
  return lien.account == payer(job.agreed.bid) && lien.key.submitted >= job.agreed.bid_made;
}

const ledger::OpenLien* Accounts::lien_of(const Job& job) const {
  ledger::SegmentKey key = run_key(cluster_name_, job);
  auto lien = open_liens_.find({key.job_id, key.text()});
  if (lien == open_liens_.end()) {
    key.bid.clear();
    lien = open_liens_.find({key.job_id, key.text()});
  }
  const bool is_its = lien != open_liens_.end() && is_of_bid(lien->second.segment, job);
  return is_its ? &lien->second : nullptr;
}

void Accounts::take_open_liens(std::vector<ledger::OpenLien> liens) {
  open_liens_.clear();
  for (ledger::OpenLien& lien : liens) {
    RunOfJob run{lien.segment.key.job_id, lien.segment.key.text()};
    open_liens_.emplace(std::move(run), std::move(lien));
  }
  liens_read_ = recovering_ = true;
  recovering_since_ = 0;
}

std::set<std::string> Accounts::decided_runs() const {
  std::set<std::string> runs;
  for (const Queued& entry : queue_) {
    if (const ledger::SegmentKey* key = run_of(entry.operation)) runs.insert(key->text());
  }
  return runs;
}

bool Accounts::reconcile(Job& job, const std::set<std::string>& decided, double billing) {
  const ledger::OpenLien* found = lien_of(job);
  const bool is_decided = decided.contains(run_key(cluster_name_, job).text());
  if (job.phase == Phase::kEnded && found != nullptr && !is_decided) return false;
  if (!is_decided && job.phase != Phase::kEnded) {
    const Money wanted = job.agreed.lien;
    const std::string account = job.agreed.lien_account;
    job.agreed.lien = found != nullptr ? found->segment.quoted : Money();
    if (found != nullptr) job.agreed.lien_account = found->segment.account;
    if (wanted == Money()) {
      void_lien(job, "nothing is set aside for it");
    } else if (wanted != job.agreed.lien || account != job.agreed.lien_account) {
      log_(LogLevel::kInfo, fmt::format("job {}: its lien of {} on {} is not in the books: it is "
                                        "set aside again",
                                        job.id, wanted.to_string(), account));
      set_lien(job, wanted, billing);
    }
  }
  if (found != nullptr) open_liens_.erase({found->segment.key.job_id, found->segment.key.text()});
  return true;
}

void Accounts::claim_lien(Job& job, bool settled) {
  const ledger::OpenLien* lien = lien_of(job);
  if (lien == nullptr) return;
  job.agreed.lien = lien->segment.quoted;
  job.agreed.lien_account = lien->segment.account;
  if (settled) {  // the note is of the run before
    job.agreed.terms.start = lien->segment.planned_start;
    job.agreed.terms.promised_end = lien->segment.promised_end;
  }
  open_liens_.erase({lien->segment.key.job_id, lien->segment.key.text()});
}

std::vector<ledger::Segment> Accounts::take_older_liens(const Job& job, std::uint32_t restart) {
  std::vector<ledger::Segment> older;
  auto entry = open_liens_.lower_bound({job.id, ""});
  while (entry != open_liens_.end() && entry->first.job_id == job.id) {
    const ledger::Segment& segment = entry->second.segment;
    if (segment.key.restart >= restart || !is_of_bid(segment, job)) {
      ++entry;
      continue;
    }
    older.push_back(segment);
    entry = open_liens_.erase(entry);
  }
  return older;
}

void Accounts::return_orphans(std::uint64_t pass_number, Time now) {
  if (!recovering_) return;
  if (recovering_since_ == 0) {
    recovering_since_ = now;
    recovering_from_ = pass_number - 1;
  }
  if (pass_number - recovering_from_ < kPassesToShowUp || now - recovering_since_ < kOrphanLife)
    return;
  recovering_ = false;
  for (const auto& [run, lien] : open_liens_) {
    log_(LogLevel::kInfo, fmt::format("lien of {} on {} has no job any more: it returns", run.key,
                                      lien.segment.account));
    Queued queued;
    queued.operation = ledger::VoidLien{lien.segment.key, "the job is gone"};
    queued.deltas.emplace_back(lien.segment.account, Delta{Money(), Money() - lien.segment.quoted});
    enqueue(std::move(queued));
  }
  open_liens_.clear();
}

}  // namespace market
