// SPDX-License-Identifier: GPL-2.0-or-later
// Closed loop (Tycoon, section 3.5): accounts that bring nodes earn by them. The nodes of an account
// stand in the note of a system account of its own without credits, a line "CLUSTER NODES" for each cluster.
#include <fmt/format.h>

#include <sstream>

#include "core/ledger/books.h"
#include "core/ledger/ledger_impl.h"
#include "core/util/hostlist.h"

namespace market::ledger {
namespace {

constexpr std::string_view kJoinPrefix = "@join/";
constexpr std::size_t kMostNodes = 65536;  // as many as Slurm has in one cluster

struct Membership {
  std::string account;
  std::map<std::string, std::string> nodes;  // as written, by cluster
};

std::vector<Membership> memberships(Database& database) {
  Statement query = database.prepare(
      "SELECT name, note FROM account WHERE system = 1 AND name GLOB '@join/*' ORDER BY name");
  std::vector<Membership> found;
  while (query.step()) {
    Membership& member = found.emplace_back();
    member.account = query.text(0).substr(kJoinPrefix.size());
    std::istringstream lines(query.text(1));
    for (std::string cluster, nodes; lines >> cluster >> nodes;) member.nodes[cluster] = nodes;
  }
  return found;
}

std::map<std::string, std::string> earners(const std::vector<Membership>& members,
                                           const std::string& cluster) {
  std::map<std::string, std::string> by_node;
  for (const Membership& member : members) {
    const auto brought = member.nodes.find(lower_case(cluster));
    if (brought == member.nodes.end()) continue;
    const auto names = expand_hostlist(brought->second, kMostNodes);
    if (!names) continue;
    for (const std::string& name : *names) by_node.emplace(name, member.account);
  }
  return by_node;
}

std::vector<std::string> nodes_in(const std::string& text) {
  if (text.empty()) return {};
  auto names = expand_hostlist(text, kMostNodes);
  if (!names || text.find_first_of(" \t\n") != text.npos)
    throw Failure{fmt::format("--nodes={}: nodes as Slurm writes them, such as n[01-04]", text)};
  return std::move(*names);
}

void keep(Database& database, const Membership& member, Time now) {
  std::string note;
  for (const auto& [cluster, nodes] : member.nodes) note += fmt::format("{} {}\n", cluster, nodes);
  database
      .prepare(
          "INSERT INTO account (name, system, note, created) VALUES (?, 1, ?, ?) "
          "ON CONFLICT (name) DO UPDATE SET note = excluded.note")
      .bind(fmt::format("{}{}", kJoinPrefix, member.account))
      .bind(note)
      .bind(now)
      .run();
}

}  // namespace

Result<void> Ledger::join(const std::string& account, const std::string& cluster,
                          const std::string& nodes, Time now) {
  Database& database = *impl_->database;
  return guarded([&] {
    Transaction transaction(database, Transaction::Kind::kWrite);
    if (!is_account_name(account) || !is_account_name(cluster))
      throw Failure{fmt::format("no account '{}' or cluster '{}'", account, cluster)};
    Membership joins{require_account(database, account).name, {}};
    std::vector<Membership> others = memberships(database);
    std::erase_if(others, [&joins](Membership& member) {
      if (member.account != joins.account) return false;
      joins = std::move(member);
      return true;
    });
    const auto taken = earners(others, cluster);
    for (const std::string& name : nodes_in(nodes)) {
      const auto other = taken.find(name);
      if (other != taken.end())
        throw Failure{fmt::format("--nodes: {} earns for account {} already", name, other->second)};
    }
    joins.nodes.erase(lower_case(cluster));
    if (!nodes.empty()) joins.nodes[lower_case(cluster)] = nodes;
    keep(database, joins, now);
    transaction.commit();
  });
}

Result<std::map<std::string, std::string>> Ledger::joined(const std::string& cluster) const {
  Database& database = *impl_->database;
  return guarded([&] { return earners(memberships(database), cluster); });
}

}  // namespace market::ledger
