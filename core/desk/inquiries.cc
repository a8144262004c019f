// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/desk/inquiries.h"

#include <algorithm>
#include <utility>

namespace market {

std::optional<std::uint64_t> Inquiries::ask(
    std::uint32_t uid, std::variant<ledger::RunsQuestion, ledger::EarningsQuestion> question,
    Time now) {
  std::erase_if(open_, [now](const auto& entry) {
    return now - entry.second.asked > kKept || now < entry.second.asked;
  });
  const auto of_user = static_cast<std::size_t>(std::count_if(
      open_.begin(), open_.end(), [uid](const auto& entry) { return entry.second.uid == uid; }));
  if (of_user >= kOfAUser || open_.size() >= kInAll) return std::nullopt;
  open_.emplace(++last_ticket_, Open{uid, now, std::move(question), std::nullopt});
  return last_ticket_;
}

std::vector<Inquiry> Inquiries::take() {
  std::vector<Inquiry> taken;
  for (auto& [ticket, open] : open_) {
    if (taken.size() == kInARound) break;
    if (!open.question) continue;
    taken.push_back({ticket, std::move(*open.question)});
    open.question.reset();
  }
  return taken;
}

void Inquiries::answer(std::uint64_t ticket, std::string text) {
  const auto found = open_.find(ticket);
  if (found != open_.end()) found->second.text = std::move(text);
}

Inquiries::Stage Inquiries::collect(std::uint32_t uid, std::uint64_t ticket, std::string& text) {
  const auto found = open_.find(ticket);
  if (found == open_.end() || found->second.uid != uid) return Stage::kUnknown;
  if (!found->second.text) return Stage::kWaits;
  text = std::move(*found->second.text);
  open_.erase(found);
  return Stage::kAnswered;
}

bool Inquiries::any_waits() const {
  return std::any_of(open_.begin(), open_.end(),
                     [](const auto& entry) { return entry.second.question.has_value(); });
}

}  // namespace market
