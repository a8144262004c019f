// SPDX-License-Identifier: GPL-2.0-or-later
#include "testsuite/plugin/tests.h"

int main(void) {
  return run_priority_tests() + run_job_submit_tests() + run_job_limits_tests() +
         run_jobcomp_tests() + run_select_tests() + run_spank_tests();
}
