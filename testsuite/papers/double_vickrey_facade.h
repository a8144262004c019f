// SPDX-License-Identifier: GPL-2.0-or-later
// The self-organizing cloud of double_vickrey_world.h as a Slurm cluster in virtual time: malleable
// jobs that the market of slurmctld sizes and places, and the two policies of the paper as mechanisms
// in the place of its auction.
// What a Slurm job can be malleable in are CPUs and memory: a CPU is 0.2 GHz, and 10 MB stand for a
// Mbit/s of disk I/O. A task's memory is held as gres, 256 MB each. There are no network and disk.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <map>

#include "core/mechanism/dva_auction.h"
#include "core/mechanism/table.h"
#include "core/sim/market_slurm.h"
#include "core/sim/memory_books.h"
#include "core/util/seeded_random.h"
#include "testsuite/papers/double_vickrey_world.h"

namespace market::papers::facade {

enum class Policy { kAuction, kRandom, kEarliest };
constexpr std::array kPolicies{Policy::kAuction, Policy::kRandom, Policy::kEarliest};
constexpr std::array kMechanisms{"cloud_dva", "cloud_ran", "cloud_edf"};

constexpr double kGhz = 0.2, kMbPerMbit = 10, kMemory = 256;
constexpr Time kBegin = 1'700'006'400, kSlack = 10;

struct Setting {
  std::size_t nodes = 1000;
  double demand = 0.5;  ///< the paper's lambda
  double hours = 24;
  double between = 50'000;  ///< mean seconds between two tasks of one node
  std::uint64_t seed = 1;
};

/// CPU, disk I/O and memory, of a node or a task.
struct Three {
  double cpu = 0, io = 0, memory = 0;
};

struct Node {
  Three capacity;  ///< CPUs, MB, gres
  Three price;     ///< credits for each and second
};

struct Task {
  double submitted = 0;              ///< seconds after the beginning
  Three demand;                      ///< CPUs, MB, gres
  double cpu_work = 0, io_work = 0;  ///< CPU-seconds, MB-seconds
  double budget = 0;                 ///< credits per second
  double tolerable_time() const { return cpu_work / demand.cpu + io_work / demand.io; }
  /// On a node of mean capacity: 3.75 processors of 2.15 GHz, 50 Mbit/s.
  double average_time() const {
    return cpu_work / (3.75 * 2.15 / kGhz) + io_work / (50 * kMbPerMbit);
  }
};

/// Tables 1 and 2; prices bring 1 to 10 credits per second for all that a node has of a resource.
class Cloud {
 public:
  explicit Cloud(const Setting& setting) : random_(setting.seed) {
    for (std::size_t i = 0; i < setting.nodes; ++i) add_node();
    const double between = setting.between / static_cast<double>(setting.nodes);
    double at = 0;
    while ((at -= between * std::log(1 - random_.uniform())) < kSecondsPerHour * setting.hours)
      add_task(at, setting.demand);
  }
  std::vector<Node> nodes;
  std::vector<Task> tasks;

 private:
  double any(const std::array<double, 4>& values) { return values[random_.below(4)]; }

  Three draw_capacity() {
    const double processors = any({1, 2, 4, 8});
    return {std::round(processors * any({1, 2, 2.4, 3.2}) / kGhz),
            any({20, 40, 60, 80}) * kMbPerMbit, any({512, 1024, 2048, 4096}) / kMemory};
  }

  void add_node() {
    const Three has = draw_capacity();
    nodes.push_back({has,
                     {random_.uniform(1, 10) / has.cpu, random_.uniform(1, 10) / has.io,
                      random_.uniform(1, 10) / has.memory}});
  }

  void add_task(double at, double lambda) {
    Task task;
    task.submitted = at;
    task.demand = {std::ceil(lambda * random_.uniform(1, 25.6) / kGhz),
                   std::ceil(lambda * random_.uniform(20, 80) * kMbPerMbit),
                   std::ceil(lambda * random_.uniform(512, 4096) / kMemory)};
    const Three work = draw_capacity();
    task.cpu_work = std::ceil(lambda * work.cpu * random_.uniform(200, 1800));
    const double io_work = lambda * work.io * random_.uniform(200, 1800);
    task.io_work = std::ceil(io_work / 1024) * 1024;  // whole GB-seconds
    for (int k = 0; k < 3; ++k) task.budget += random_.uniform(1, 10);
    task.budget *= random_.uniform(1, 1.4);
    tasks.push_back(task);
  }

  SeededRandom random_;
};

/// The shortest time in which any candidate of its last auction would do a job (Definition 1).
inline std::map<std::uint64_t, double>& shortest_times() {
  static std::map<std::uint64_t, double> times;
  return times;
}

/// The auction of market.conf's dva, or in its place a choice of the node among the same candidates, at
/// the node's own price; both note what the fastest candidate would have been.
class CloudAuction final : public Auction {
 public:
  CloudAuction(const MarketSettings& config, Policy policy)
      : policy_(policy), inner_(config), random_(7) {
    for (const TresWeight& weight : config.weights) {
      goods_.names.push_back(weight.tres);
      goods_.weights.push_back(weight.weight / units_of_price(weight.tres));
    }
  }
  // Owners are paid under rules of dva.
  std::string_view rule() const override { return "dva/cloud"; }
  void update(const Capacity&, Time) override {}
  bool wants_nodes() const override { return true; }
  bool bids_rates() const override { return true; }

  std::vector<Standing> auction(std::span<const LiveBid> bids, std::span<const NodeRoom> nodes,
                                Time now) override {
    DvaRooms rooms(goods_, nodes, 0, {});
    std::vector<Standing> standings(bids.size());
    if (policy_ == Policy::kAuction) standings = inner_.auction(bids, nodes, now);
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < bids.size(); ++i) {
      if (bids[i].running) {
        standings[i].rate = bids[i].rate.value_or(0);
        standings[i].priority = 1;
      } else {
        order.push_back(i);
      }
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return *bids[a].bid_rate > *bids[b].bid_rate;
    });
    for (const std::size_t i : order) see(bids[i], &rooms, &standings[i]);
    return standings;
  }

 private:
  void see(const LiveBid& bid, DvaRooms* rooms, Standing* standing) {
    const SizedDemand sized =
        sized_demand(bid, goods_, goods_.amounts(bid.bid->request.demand.tres));
    const DvaRooms::Wanted wanted{sized.least, 0, *bid.bid_rate, 0, 1, 1, bid.able};
    const std::vector<NodeOffer> offers = sized_offers(sized, wanted, rooms);
    if (offers.empty()) return;
    const auto fastest = std::ranges::min_element(
        offers, {}, [](const NodeOffer& offer) { return offer.outcome.execution_time; });
    shortest_times()[bid.id] = fastest->outcome.execution_time;
    const NodeOffer& won = policy_ == Policy::kEarliest ? *fastest
                           : policy_ == Policy::kRandom ? offers[random_.below(offers.size())]
                                                        : offers.front();
    rooms->take(won.node, won.shares);
    if (policy_ == Policy::kAuction) return;
    standing->nodes = {won.node};
    standing->rate = won.outcome.payment_unit;
    standing->payments = {standing->rate};
    standing->size = size_of(sized, {won.node, won.shares, 0, 0, 0, won.outcome.execution_time});
    standing->priority = standing->share = 1;
  }

  Policy policy_;
  DvaAuction inner_;
  Goods goods_;
  SeededRandom random_;
};

inline void add_mechanisms() {
  static const bool added = [] {
    return add_mechanism(kMechanisms[0],
                         [](const MarketSettings& config) -> std::unique_ptr<Mechanism> {
                           return std::make_unique<CloudAuction>(config, Policy::kAuction);
                         }) &&
           add_mechanism(kMechanisms[1],
                         [](const MarketSettings& config) -> std::unique_ptr<Mechanism> {
                           return std::make_unique<CloudAuction>(config, Policy::kRandom);
                         }) &&
           add_mechanism(kMechanisms[2],
                         [](const MarketSettings& config) -> std::unique_ptr<Mechanism> {
                           return std::make_unique<CloudAuction>(config, Policy::kEarliest);
                         });
  }();
  EXPECT_TRUE(added);
}

/// A task, and what became of it.
struct Outcome {
  Task task;
  bool started = false, ended = false;
  double start = 0, end = 0;  ///< seconds after the beginning
  double shortest = 0;        ///< seconds
  double paid = 0;            ///< credits
  double asked = 0;           ///< what the node's prices make of its shares, credits per second
  std::size_t node = 0;

  double time() const { return end - start; }
};

struct Day {
  std::vector<Outcome> outcomes;
  std::vector<double> income;  ///< of each node's owner, credits
  Money sum, liens;
};

/// The cloud through the market in virtual time.
class Run {
 public:
  Run(const Cloud& cloud, Policy policy) : cloud_(cloud) {
    add_mechanisms();
    shortest_times().clear();
    make_config(policy);
    for (const Task& task : cloud.tasks) add_job(task);
    EXPECT_TRUE(books_.add_account("users") &&
                books_.deposit("users", *Money::parse("9000000000")));
  }

  Day run() {
    const std::vector<std::string> accounts = {"users"};
    for (const Task& task : cloud_.tasks) day_.outcomes.push_back({.task = task});
    sim::MarketSlurm slurm({machine_, jobs_, valuations_, accounts, config_}, books_);
    slurm.market().site().asks.install(std::move(asks_));
    EXPECT_TRUE(slurm.run({}, [this](const sim::Decision& decision) { note(decision); }));
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      const sim::JobRecord& record = slurm.records()[i];
      Outcome& outcome = day_.outcomes[i];
      outcome.ended = record.state == sim::JobState::kCompleted;
      outcome.end = static_cast<double>(record.end - kBegin);
    }
    for (std::size_t i = 0; i < cloud_.nodes.size(); ++i)
      day_.income.push_back(books_.balance(owner_of(i)).posted.credits());
    day_.sum = books_.sum();
    day_.liens = books_.liens();
    return std::move(day_);
  }

 private:
  static std::string owner_of(std::size_t node) { return fmt::format("owner-{}", node + 1); }
  static std::string clock(double seconds) {
    const auto whole = static_cast<std::int64_t>(seconds);
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  }

  void make_config(Policy policy) {
    config_.mechanism = kMechanisms[static_cast<std::size_t>(policy)];
    config_.seed = "cloud";
    config_.auction_period = static_cast<Time>(kCycle);
    config_.start_slack = kSlack;
    config_.weights = {{"cpu", 1}, {"mem", 1}, {"gres/gpu", 1}};
    config_.asks.most = 1e12;
    machine_.partitions.push_back({"main", {}});
    for (std::size_t i = 0; i < cloud_.nodes.size(); ++i) {
      const Node& node = cloud_.nodes[i];
      const std::string name = fmt::format("n{}", i + 1);
      machine_.nodes.push_back({name, static_cast<std::uint32_t>(node.capacity.cpu),
                                static_cast<std::uint32_t>(node.capacity.memory),
                                static_cast<std::uint64_t>(node.capacity.io)});
      machine_.partitions[0].nodes.push_back(static_cast<std::uint32_t>(i));
      config_.owners[name] = {owner_of(i), node.price.cpu * kSecondsPerHour};
      NodeAsk ask{node.price.cpu * kSecondsPerHour,
                  {{"mem", node.price.io * kSecondsPerHour * 1024},
                   {"gres/gpu", node.price.memory * kSecondsPerHour}}};
      asks_.push_back({name, owner_of(i), std::move(ask), "", kBegin, 0});
      EXPECT_TRUE(books_.add_account(owner_of(i)));
    }
  }

  void add_job(const Task& task) {
    sim::SimJob job;
    job.submit = job.eligible = kBegin + static_cast<Time>(task.submitted);
    job.limit = job.run = static_cast<Time>(std::ceil(task.tolerable_time()));
    job.need.cores = static_cast<std::uint32_t>(task.demand.cpu);
    job.need.nodes = 1;
    job.need.gpus_per_node = static_cast<std::uint32_t>(task.demand.memory);
    job.need.mem_node_mb = static_cast<std::uint64_t>(task.demand.io);
    job.trace = static_cast<std::uint32_t>(jobs_.size());
    sim::RateBid bid;
    bid.rate = *Money::from_credits(task.budget * kSecondsPerHour);
    bid.workload = fmt::format("cpu:{},mem:{}", clock(task.cpu_work), clock(task.io_work / 1024));
    bid.range = fmt::format("cpu:{:.0f}-{:.0f},mem:{:.0f}M-{:.0f}M", task.demand.cpu,
                            std::max(128.0, task.demand.cpu), task.demand.io,
                            std::max(800.0, task.demand.io));
    sim::Valuation valuation;
    valuation.worth = bid.rate;
    valuation.by_rate = std::make_shared<const sim::RateBid>(std::move(bid));
    // Who has no node by then gives up: Slurm drops what cannot end by its deadline.
    const Time limit = (job.limit + kSlack + 59) / 60 * 60;
    valuation.deadline = job.submit + limit + static_cast<Time>(kContentWait + kPatience);
    jobs_.push_back(job);
    valuations_.push_back(std::move(valuation));
  }

  void note(const sim::Decision& decision) {
    if (decision.kind == sim::Decision::Kind::kRefuse) ADD_FAILURE() << decision.text;
    if (decision.kind != sim::Decision::Kind::kStart) return;
    Outcome& outcome = day_.outcomes[decision.job];
    outcome.started = true;
    outcome.start = static_cast<double>(decision.now - kBegin);
    outcome.shortest = shortest_times()[decision.job + 1];
    outcome.node = decision.cores->nodes.front();
    double cpus = 0;
    for (const std::uint64_t word : decision.cores->words) cpus += std::popcount(word);
    const Three& price = cloud_.nodes[outcome.node].price;
    outcome.asked = cpus * price.cpu +
                    static_cast<double>(decision.cores->mem_mb.front()) * price.io +
                    decision.cores->gpus_per_node * price.memory;
  }

  const Cloud& cloud_;
  Config config_;
  sim::Machine machine_;
  std::vector<ledger::PostedAsk> asks_;
  std::vector<sim::SimJob> jobs_;
  std::vector<sim::Valuation> valuations_;
  Day day_;
  sim::MemoryBooks books_{[this](const ledger::Segment& run) {
    day_.outcomes[run.key.job_id - 1].paid += (run.charged - run.refunded).credits();
  }};
};

}  // namespace market::papers::facade
