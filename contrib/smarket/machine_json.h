// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "core/sim/machine.h"

namespace market::smarket {

/// A machine in JSON: {"nodes": [{"names": "n[1-4]", "cores": 8, "memory_mb": 64000, "gpus": 2}],
/// "partitions": [{"name": "main", "nodes": "n[1-4]", "default": true}]}; memory, GPUs and partitions
/// may be left out. Fails with the path and what is wrong.
Result<sim::Machine> read_machine_json(const std::string& path);

/// What scontrol says of the cluster of this host.
Result<sim::Machine> ask_scontrol();

}  // namespace market::smarket
