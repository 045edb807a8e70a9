/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A distribution given by values and how often each came: drawn from a file,
 * or from what was measured.
 */
#ifndef SIM_COST_VALUES_H
#define SIM_COST_VALUES_H

#include <stddef.h>

#include "campaign/random.h"
#include "cr/error.h"

/** Zero is empty. */
struct cost_values {
	cr_ns *value;	/**< [count] */
	uint64_t *upto; /**< [count] how often it or one before it came      */
	size_t count, room;
};

/** Add @value, which came @times (> 0). 0; -ENOMEM; -ERANGE: too many. */
int cost_values_add(struct cost_values *v, cr_ns value, uint64_t times);
void cost_values_fini(struct cost_values *v);

/** Read lines "COST [COUNT]", as "70us 120"; '#' begins a comment. 0, or
 * -errno with @e, which names file and line. */
int cost_values_read(struct cost_values *v, const char *path, struct cr_err *e);

/** One of them, each as often as it came; 0 of none. */
cr_ns cost_values_draw(const struct cost_values *v, struct random *r);

#endif
