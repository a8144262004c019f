// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/unheard_ends.h"

namespace market {

UnheardEnd::UnheardEnd(const market_job_t& told, Time at) : job_(told), told_at_(at) {
  const auto own = [this](const char*& text) {
    if (text != nullptr) text = texts_.emplace_back(text).c_str();
  };
  market_size_t& size = job_.size;
  for (const char** text :
       {&job_.user, &job_.account, &job_.partition, &job_.qos, &job_.name, &job_.note,
        &job_.state_desc, &job_.resv_name, &job_.tres_req, &job_.tres_alloc, &size.tres_per_job,
        &size.tres_per_node, &size.tres_per_socket, &size.tres_per_task, &size.req_nodes,
        &size.exc_nodes, &size.features, &size.cpus_per_tres, &size.mem_per_tres})
    own(*text);
  if (told.allocs == nullptr) return;
  allocs_.assign(told.allocs, told.allocs + told.alloc_count);
  for (market_alloc_t& alloc : allocs_) {
    own(alloc.name);
    if (alloc.core_words == nullptr) continue;
    alloc.core_words =
        words_.emplace_back(alloc.core_words, alloc.core_words + alloc.word_count).data();
  }
  job_.allocs = allocs_.data();
}

}  // namespace market
