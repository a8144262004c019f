// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/pots.h"

#include <fmt/format.h>

#include <optional>

namespace market {
namespace {

// Of "@CLUSTER:HOST/TRES/USER/ACCOUNT", where a TRES may have a slash too; nothing of others.
std::optional<Pot> pot_from(std::string_view cluster, std::string_view name) {
  const std::string begin = fmt::format("@{}:", cluster);
  if (!name.starts_with(begin)) return std::nullopt;
  name.remove_prefix(begin.size());
  const std::size_t host = name.find('/');
  const std::size_t account = name.rfind('/');
  if (host == name.npos || account <= host) return std::nullopt;
  const std::size_t user = name.rfind('/', account - 1);
  if (user == name.npos || user <= host) return std::nullopt;
  return Pot{std::string(name.substr(0, host)), std::string(name.substr(host + 1, user - host - 1)),
             std::string(name.substr(user + 1, account - user - 1)),
             std::string(name.substr(account + 1)), 0};
}

}  // namespace

std::string pot_name(std::string_view cluster, std::string_view host, std::string_view tres,
                     std::string_view user, std::string_view account) {
  return lower_case(fmt::format("@{}:{}/{}/{}/{}", cluster, host, tres, user, account));
}

bool is_user_of_pots(std::string_view user) {
  return !user.empty() && lower_case(user) != "nobody";
}

void Pots::install(const std::vector<ledger::PotInfo>& pots) {
  pots_.clear();
  for (const ledger::PotInfo& info : pots) {
    auto pot = pot_from(cluster_, info.balance.account);
    if (!pot) continue;
    pot->interval = info.interval;
    pots_.emplace(info.balance.account, std::move(*pot));
  }
}

const Pot* Pots::find(std::string_view name) const {
  const auto found = pots_.find(name);
  return found == pots_.end() ? nullptr : &found->second;
}

void Pots::begin(const ledger::ChangePots& request) {
  if (request.kind == ledger::ChangePots::Kind::kFund) waiting_[request.token] = request.parts;
}

Money Pots::into_new_pots(std::string_view user, std::string_view account) const {
  Money sum;
  for (const auto& [token, funds] : waiting_) {
    for (const ledger::ChangePots::Part& part : funds) {
      const auto pot = pots_.contains(part.pot) ? std::nullopt : pot_from(cluster_, part.pot);
      if (pot && pot->user == lower_case(user) && pot->account == account) sum += part.amount;
    }
  }
  return sum;
}

}  // namespace market
