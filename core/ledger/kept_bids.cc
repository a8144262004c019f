// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/ledger/kept_bids.h"

#include "core/ledger/books.h"
#include "core/ledger/ledger_impl.h"
#include "core/ledger/schema.h"

namespace market::ledger {

Result<std::vector<RecordBid>> read_kept_bids(const std::string& path, const std::string& cluster) {
  return guarded([&] {
    const auto database = open_database(path, Mode::kReadOnly, schema_steps());
    Statement query = database->prepare(
        "SELECT submitted, earliest, deadline, duration, tres, value, partition, id, cluster, "
        "account, uid, accepted, price, mechanism, class, falls, zero, work FROM bid "
        "WHERE (? = '' OR cluster IN ('', ?)) "
        "AND (accepted = 1 OR substr(id, 1, 8) = 'refused:') AND substr(id, 1, 6) <> 'prior:' "
        "ORDER BY submitted, id");
    query.bind(cluster).bind(cluster);
    std::vector<RecordBid> bids;
    while (query.step()) {
      RecordBid record;
      record.bid = {query.integer(0), query.integer(1),           query.integer(2),
                    query.integer(3), decode_tres(query.text(4)), query.real(5),
                    query.text(6)};
      record.id = query.text(7);
      record.cluster = query.text(8);
      record.partition = record.bid.partition;
      record.account = query.text(9);
      record.uid = static_cast<std::uint32_t>(query.integer(10));
      record.accepted = query.integer(11) == 1;
      record.price = Money::from_micro(query.integer(12));
      record.mechanism = query.text(13);
      record.bid.job_class = query.text(14);
      record.bid.drop = query.integer(15);
      record.bid.zero = query.integer(16);
      record.bid.work = query.real(17);
      bids.push_back(std::move(record));
    }
    return bids;
  });
}

}  // namespace market::ledger
