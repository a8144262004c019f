// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/sim/policies.h"

#include <deque>

#include "core/sim/backfill.h"
#include "core/sim/conservative.h"
#include "core/sim/fair_share.h"

namespace market::sim {
namespace {

class Fifo : public QueuePolicy {
 public:
  void arrived(VirtualSlurm& /*slurm*/, JobIndex job) override { waiting_.push_back(job); }
  void ended(VirtualSlurm& /*slurm*/, JobIndex /*job*/, Time /*limit_end*/) override {}
  void nodes_changed(VirtualSlurm& /*slurm*/) override {}
  void schedule(VirtualSlurm& slurm) override {
    while (!waiting_.empty() && slurm.start(waiting_.front())) waiting_.pop_front();
  }

 private:
  std::deque<JobIndex> waiting_;
};

template <class Policy, class... Arguments>
std::unique_ptr<QueuePolicy> make(Arguments... arguments) {
  return std::make_unique<Policy>(arguments...);
}

}  // namespace

std::vector<std::string> policy_names() {
  return {"fifo", "easy", "conservative", "fairshare"};
}

PolicyMaker policy_maker(std::string_view name) {
  if (name == "fifo") return [](const VirtualSlurm&, std::uint32_t) { return make<Fifo>(); };
  if (name == "easy")
    return [](const VirtualSlurm&, std::uint32_t pool) { return make<Backfill>(pool); };
  if (name == "conservative")
    return [](const VirtualSlurm&, std::uint32_t pool) { return make<Conservative>(pool); };
  if (name == "fairshare")
    return [](const VirtualSlurm&, std::uint32_t pool) { return make<FairShare>(pool); };
  return nullptr;
}

}  // namespace market::sim
