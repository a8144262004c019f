// SPDX-License-Identifier: GPL-2.0-or-later
// The cluster as Slurm tells it: nodes, partitions, who holds what now and by plan. One for all
// markets.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/config/config.h"
#include "core/market/bookings.h"
#include "core/market/supply.h"
#include "core/mechanism/mechanism.h"
#include "core/words/slurm_view.h"

namespace market {

/// Seconds that a run past its end is booked for at a time.
inline constexpr Time kPastEnd = 60;

struct Partition {
  std::string name;
  bool is_default = false, up = false;
  Time max_time = 0, default_time = 0;
  market_partition_rules_t rules{};
};

/// A run that was first seen running in this pass.
struct NewRun {
  Placement placement;
  Time end = 0;
};

class Cluster {
 public:
  /// Takes over what Slurm tells; whether the nodes have other indices now.
  bool update(const market_cluster_t& told);
  bool is_known() const { return known_; }

  const std::vector<Node>& nodes() const { return bookings_.plan().nodes(); }
  const NodePlan& plan() const { return bookings_.plan(); }
  /// The node plan with its bookings.
  Bookings& bookings() { return bookings_; }
  const Bookings& bookings() const { return bookings_; }
  const std::vector<Partition>& partitions() const { return partitions_; }
  /// "" is the default partition; null when there is none.
  const Partition* find_partition(std::string_view name) const;
  /// Whether Slurm may preempt the partition's jobs.
  bool preempts_in(std::string_view partition) const;
  bool preempts_by_tier() const { return preempts_by_tier_; }
  bool preempts_by_qos() const { return preempts_by_qos_; }
  /// The names of all QOS, in small letters.
  const std::vector<std::string>& qos() const { return qos_; }
  bool qos_enforced() const { return qos_enforced_; }
  /// A job_submit plugin after ours replaces what users are told.
  bool texts_overwritten() const { return texts_overwritten_; }
  bool takes_ranks() const { return takes_ranks_; }

  /// What Slurm will allocate for these options, under `settings`, or why that cannot be told.
  Result<Demand> demand_for(const SizeOptions& size, const std::string& partition,
                            const MarketSettings& settings) const;
  /// What the places that people bought hold, by the names of their reservations.
  using Places = std::map<std::string, Tres, std::less<>>;
  void set_places(Places places) { places_ = std::move(places); }
  /// What a market has for sale, and from when until when others hold some of it.
  Capacity capacity_under(const MarketSettings& settings) const;

  /// A running job without a bid, in this pass.
  void see_other(const market_job_t& seen, std::uint64_t pass, Time now);
  /// Those that were not seen in this pass are over.
  void drop_others(std::uint64_t pass);
  /// Before a pass, with the marks of all records: those of runs without a bid that are as they were are not needed.
  void look_at_others(market_mark_t* marks, std::size_t count, Time now);
  /// Whether they changed since the last call.
  /// What jobs without a bid and reservations that are not the market's hold at `time`.
  std::vector<const Placement*> held_by_others(Time time) const;
  bool take_others_changed() { return std::exchange(others_changed_, false); }
  bool others_changed() const { return others_changed_; }

  /// A run that this pass saw first.
  void add_new_run(NewRun run) { new_runs_.push_back(std::move(run)); }
  std::vector<NewRun> take_new_runs() { return std::exchange(new_runs_, {}); }
  /// Whether planned places must be looked at, since nodes or partitions changed; once.
  bool take_places_due() { return std::exchange(places_due_, false); }
  /// Whether no place stays where it was planned, since nodes have other indices; once.
  bool take_nodes_moved() { return std::exchange(nodes_moved_, false); }

 private:
  struct OtherRun {          // a running job without a bid
    std::uint32_t node = 0;  // one of its nodes, which are all of one market
    Time end = 0;
    std::uint64_t seen_pass = 0;
    Tres tres;
    std::string reservation;             // in which it runs
    std::uint64_t mark = 0, glance = 0;  // of Slurm's record of it
    bool is_there = false;               // as it was, in the look before this pass
  };
  void take_partitions(const market_cluster_t& told, std::vector<Node>& nodes);
  void book_foreign(const market_cluster_t& told);
  Tres taken_by(const OtherRun& run) const;

  Bookings bookings_;
  std::vector<Partition> partitions_;
  bool preempts_by_tier_ = false, preempts_by_qos_ = false, texts_overwritten_ = false;
  bool takes_ranks_ = false;
  std::vector<std::string> qos_;
  bool qos_enforced_ = false;
  std::vector<HeldOfNode> foreign_held_;  // by reservations that are not the market's
  std::vector<std::string> foreign_keys_;
  std::set<std::string, std::less<>> foreign_names_;
  std::unordered_map<std::uint32_t, OtherRun> others_;
  Places places_;
  std::vector<NewRun> new_runs_;
  bool known_ = false, others_changed_ = false, places_due_ = false, nodes_moved_ = false;
};

/// What a run of so many CPUs may have of each TRES that a place bought: its CPUs' part. Whatever runs
/// side by side on the place's cores has no more of anything than was paid for.
Tres part_of_place(const Tres& bought, std::int64_t cpus);

/// Whether a node is for sale in a market: one of its partitions trades there.
bool sells(const MarketSettings& settings, const Node& node);

}  // namespace market
