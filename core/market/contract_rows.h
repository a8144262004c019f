// SPDX-License-Identifier: GPL-2.0-or-later
// The completions that are for sale, with their prices.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/market/menus.h"
#include "core/mechanism/mechanism.h"

namespace market {

struct Site;

/// The price of a start of the list; nothing where it is not for sale.
std::optional<Money> price_at(const PriceList& list, std::size_t index);
/// Of the start's contract, where it has one; its promise is `start`.
std::optional<ExPost> ex_post_at(const PriceList& list, std::size_t index, Time start);

/// Completions with a place now, each cheaper than all before it; at most `rows` of them, the first
/// and the last among these. None where no completion is promised.
std::vector<Contract> menu_rows(const Site& site, const Request& request, std::size_t rows,
                                Time now);

/// Where a row's completion cannot be had any more: the next one, at the larger of what the row's
/// replica would owe for it and its price now.
std::optional<Contract> next_row(const Site& site, const Contract& row, const Request& request,
                                 Time now);

}  // namespace market
