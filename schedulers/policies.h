/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of the built-in policies; registry.c lists them.
 */
#ifndef SCHEDULERS_POLICIES_H
#define SCHEDULERS_POLICIES_H

#include "cr/sched.h"

extern const struct cr_sched_ops cr_sched_fifo;
extern const struct cr_sched_ops cr_sched_rr;
extern const struct cr_sched_ops cr_sched_edf;
extern const struct cr_sched_ops cr_sched_edf_be;
extern const struct cr_sched_ops cr_sched_edf_steal;
extern const struct cr_sched_ops cr_sched_gfl;
extern const struct cr_sched_ops cr_sched_dbp;
extern const struct cr_sched_ops cr_sched_llf;
extern const struct cr_sched_ops cr_sched_rm;
extern const struct cr_sched_ops cr_sched_dwa;
extern const struct cr_sched_ops cr_sched_wfq;
extern const struct cr_sched_ops cr_sched_cfs;
extern const struct cr_sched_ops cr_sched_eevdf;
extern const struct cr_sched_ops cr_sched_bfs;
extern const struct cr_sched_ops cr_sched_staircase;
extern const struct cr_sched_ops cr_sched_rsdl;
extern const struct cr_sched_ops cr_sched_best;
extern const struct cr_sched_ops cr_sched_goodness;
extern const struct cr_sched_ops cr_sched_pf;
extern const struct cr_sched_ops cr_sched_pd;
extern const struct cr_sched_ops cr_sched_pd2;
extern const struct cr_sched_ops cr_sched_edf_hsb;
extern const struct cr_sched_ops cr_sched_srpt;
extern const struct cr_sched_ops cr_sched_cbs;
extern const struct cr_sched_ops cr_sched_grub;
extern const struct cr_sched_ops cr_sched_red;

#endif
