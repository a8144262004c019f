// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/config/owners_section.h"

#include <fmt/format.h>

#include "core/util/account_name.h"
#include "core/util/hostlist.h"

namespace market::config {
namespace {

constexpr std::size_t kMostNodes = 65536;  // as many as Slurm has in one cluster

void read_nodes(Section& section, const NodeOwner& owner, MarketSettings& config) {
  std::string written;
  section.text("nodes", written);
  const auto names = expand_hostlist(written, kMostNodes);
  if (!names) {
    return section.fault(
        "nodes",
        fmt::format("nodes as Slurm writes them, such as n[01-16],gpu1: {}", names.error().text));
  }
  for (const std::string& name : *names) {
    if (!config.owners.emplace(name, owner).second) {
      return section.fault("nodes", fmt::format("each node once, but {} comes twice", name));
    }
  }
}

}  // namespace

void read_owners(Section& root, MarketSettings& config) {
  if (!root.has("owners")) return;
  config.owners.clear();  // a market's own list replaces the default one
  for (Section& section : root.groups("owners")) {
    NodeOwner owner;
    section.text("account", owner.account);
    owner.account = lower_case(owner.account);
    if (!is_account_name(owner.account)) {
      section.fault("account",
                    fmt::format("an account of the ledger: 1 to {} letters, digits, '_', '.', '-'",
                                kLongestAccountName));
    }
    section.decimal("ask", config.asks.most, owner.ask);
    if (owner.ask < config.asks.least)
      section.fault("ask", fmt::format("not below dva.ask_min, which is {}", config.asks.least));
    if (!section.has("ask")) {
      section.fault("ask", "credits for a billing unit and an hour, such as \"0.02\"");
    }
    read_nodes(section, owner, config);
    section.refuse_unknown_keys();
  }
}

}  // namespace market::config
