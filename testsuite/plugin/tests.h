// SPDX-License-Identifier: GPL-2.0-or-later
// The tests of each plugin, run by main.c.
#ifndef SLURM_MARKET_TESTSUITE_PLUGIN_TESTS_H
#define SLURM_MARKET_TESTSUITE_PLUGIN_TESTS_H

int run_priority_tests(void);
int run_job_submit_tests(void);
int run_job_limits_tests(void);
int run_jobcomp_tests(void);
int run_select_tests(void);
int run_spank_tests(void);

#endif
