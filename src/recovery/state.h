/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recovery is made of; for src/recovery only.
 */
#ifndef RECOVERY_STATE_H
#define RECOVERY_STATE_H

#include "recovery/recovery.h"

struct recovery {
	struct recovery_config cfg;
	struct live *live;
	/** [ncontexts], some NULL. Written by control (release). */
	struct recovery_context *_Atomic *context;
	unsigned ncontexts;
	unsigned *at; /**< [cfg.places] which of them is there; control, and a
		       * thread that starts there                          */
	struct watch_worker *worker; /**< [cfg.workers] */
	struct watchdog dog;
	struct recovery_counts counts;
	bool ending;
};

/** A context for each place. 0 or -ENOMEM. */
int contexts_open(struct recovery *r);
void contexts_close(struct recovery *r);
/** A context that no thread has; -ENOMEM; -EAGAIN: all spares are taken. */
int contexts_spare(struct recovery *r);
/** Put context @i at @place, for the thread that starts next. */
void contexts_put(struct recovery *r, unsigned place, unsigned i);

#endif
