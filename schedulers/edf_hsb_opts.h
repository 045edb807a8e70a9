/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name and the options of edf-hsb, for the policy and its analysis.
 */
#ifndef SCHEDULERS_EDF_HSB_OPTS_H
#define SCHEDULERS_EDF_HSB_OPTS_H

#include "cr/option.h"

#define HSB_POLICY "edf-hsb"

struct hsb_opts {
	int64_t be_servers; /**< 0: one a CPU                               */
	int64_t be_share;   /**< budget / period, ppm; 0: no servers        */
	int64_t be_period;  /**< ns                                         */
	int64_t budget;	    /**< over the mean cost, ppm; 0: largest feasible */
	int64_t epsilon;    /**< share of a CPU, ppm                        */
	int64_t reclaim, background; /**< 0, 1                             */
};

extern const struct cr_opt hsb_options[];

#endif
