// SPDX-License-Identifier: GPL-2.0-or-later
// What priority/market tells select/cons_tres_market, which is another library.
#ifndef SLURM_MARKET_SELECT_RANKS_H
#define SLURM_MARKET_SELECT_RANKS_H

#include <stdbool.h>
#include <stdint.h>

// The rank of each node, in Slurm's order of nodes: lower ones are taken first. Copied. Count 0: no
// ranks any more. Needs slurmctld's job WRITE lock.
void market_select_set_ranks(const uint16_t* ranks, uint32_t count);

// Whether Slurm takes nodes in the order of those ranks: that plugin is SelectType.
bool select_ranks_taken(void);

// The same, from priority/market: nothing happens where the select plugin is another one.
void select_ranks_tell(const uint16_t* ranks, uint32_t count);

#endif
