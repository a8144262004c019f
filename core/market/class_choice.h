// SPDX-License-Identifier: GPL-2.0-or-later
// Which class of jobs a bid is of (contracts.classes of market.conf), and what the units of work of a
// recurrent job say: a worth, and by when.
#pragma once

#include <string>
#include <string_view>

#include "core/config/config.h"
#include "core/words/bid.h"

namespace market {

/// The shape of the class that a worth is given in; "" where none is given.
std::string_view shape_of(const Worth& worth);

/// The class of a request: the one `named`, else the first that is open to who pays, and of `shape`
/// unless that is "". Null where the market has no classes. Fails with one line where the named one
/// is not there, not open, or of another shape, and where none is open.
Result<const ContractClass*> class_for(const MarketSettings& settings, const Request& request,
                                       std::string_view named, std::string_view shape);

/// The class that a request goes on with after a change of its account, partition, QOS or market: its
/// own where that is open, else the first one that is and has its shape, else its own.
std::string class_after_change(const MarketSettings& settings, const Request& request,
                               const Worth& worth);

/// Units of work as --work gives them, above 0. Fails with one line.
Result<double> parse_work(std::string_view text);

/// By when so many units of work are due, of a bid made at that time.
Time due_by(const ContractClass& recurrent, double work, Time bid_made);

/// What a job of a recurrent class is worth, of so many billing units and seconds.
Worth worth_of_work(const ContractClass& recurrent, double work, double billing, Time duration);

}  // namespace market
