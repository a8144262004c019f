// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/requests.h"

namespace market {

Requests::Stage Requests::stage_of(const std::string& token, std::uint32_t uid,
                                   const std::string& what) const {
  const auto found = requests_.find(token);
  if (found == requests_.end() || found->second.uid != uid) return Stage::kUnknown;
  const Request& known = found->second;
  if (what.empty() || known.what.empty() || known.what == what) return known.stage;
  return known.stage == Stage::kRefused ? Stage::kUnknown : Stage::kRefused;
}

bool Requests::has_room_for(std::uint32_t uid, Time now) {
  std::erase_if(requests_, [now](const auto& entry) {
    const Time age = now - entry.second.made;
    return entry.second.stage != Stage::kWaits && (age > kKept || age < 0);
  });
  std::size_t of_user = 0, in_all = 0;
  for (const auto& [token, request] : requests_) {
    if (request.stage != Stage::kWaits) continue;
    ++in_all;
    of_user += request.uid == uid;
  }
  return of_user < kOfAUser && in_all < kInAll;
}

void Requests::begin(const std::string& token, std::uint32_t uid, Time now,
                     const std::string& what) {
  requests_[token] = {uid, now, Stage::kWaits, what};
}

void Requests::written(const std::string& token, ledger::Outcome outcome) {
  const auto found = requests_.find(token);
  if (found == requests_.end()) return;
  const bool is_there =
      outcome == ledger::Outcome::kDone || outcome == ledger::Outcome::kAlreadyDone;
  found->second.stage = is_there ? Stage::kWritten : Stage::kRefused;
}

void Requests::recall(const std::vector<ledger::WrittenRequest>& written, Time now) {
  for (const ledger::WrittenRequest& request : written)
    requests_.try_emplace(request.token, Request{request.uid, now, Stage::kWritten, {}});
}

}  // namespace market
