/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs of a node: submitted, waiting for their turn, running, and for a
 * while after their end.
 *
 *   submit --> ASKED --> WAITING --> RUNNING --> DONE | FAILED
 *                |          |           | cancel
 *                v          |           v
 *             refused       |        ENDING --> CANCELLED (or DONE, if that
 *                           +-------------------^ cancel     was first)
 *
 * Few run at a time: a waiting one costs no file, buffer, codec or task. One
 * that is asked is nobody's yet: it cannot be found.
 *
 * Thread rule: the event base's thread ("control"), but for jobs_gone().
 */
#ifndef CONVERT_CONVERTER_H
#define CONVERT_CONVERTER_H

#include <event2/event.h>

#include "convert/conversion.h"

struct jobs;

struct jobs_config {
	struct event_base *base;
	struct live *live;
	unsigned char kind; /**< live_task.kind of its tasks               */
	const char *dir;    /**< the spool folder                          */
	uint64_t max_bytes; /**< largest input                             */
	unsigned max;	    /**< waiting and running together              */
	unsigned running;   /**< at a time                                 */
	unsigned floor;	    /**< frames a second for each; 0: what is left */
	/** What a frame of @j costs, into j->cfg.cost, just before it starts.
	 * 0, or -errno with @e. */
	int (*price)(void *arg, struct job *j, struct cr_err *e);
	/** @j runs now. */
	void (*started)(void *arg, const struct job *j);
	/** @j is over, see its state. It stays for jobs_find() as one of the
	 * last JOBS_KEPT. */
	void (*ended)(void *arg, const struct job *j);
	void *arg;
};

/** Jobs that can be asked for after their end. */
enum { JOBS_KEPT = 1000 };

/** Open the spool and start the I/O thread. 0, or -errno with @e. */
int jobs_open(struct jobs **js, const struct jobs_config *cfg,
	      struct cr_err *e);
/** Cancel all, refuse those that are asked, and wait until they have gone, but
 * for the hung ones; runs the event base meanwhile. No new ones after that.
 * NULL is fine. */
void jobs_end(struct jobs *js);
/** Wait for those, too. */
void jobs_end_all(struct jobs *js);
/** Free, after jobs_end() and the end of the engine's workers. NULL is fine.
 */
void jobs_close(struct jobs *js);

/**
 * Submit a job. Of @cfg the members in, out, mode, dtx, overwrite, id and
 * to.rate (0: the input's, or what the codec has) count. Returns 0: the asker
 * will be told what has become of it, when its files have been looked at; or
 * -EINVAL: names without a known ending, or the same twice; -ENOSPC when too
 * many wait; -ESHUTDOWN after jobs_end(); -ENOMEM; with @e. Told are, besides,
 * -EBUSY: another job makes that file; and what job_io_look() says.
 */
int jobs_submit(struct jobs *js, const struct job_cfg *cfg, const char *owner,
		const struct job_asker *asker, struct cr_err *e);

/** Cancel @j. 0; or -EALREADY: it is over. */
int jobs_cancel(struct jobs *js, struct job *j);

/** The job with this id, or NULL. */
struct job *jobs_find(struct jobs *js, uint32_t id);
/** The first one with an id above @id, or NULL. */
struct job *jobs_after(struct jobs *js, uint32_t id);

/** Try again to start jobs that the engine had no room for. Once a second. */
void jobs_tick(struct jobs *js);

/** Its task has left the engine. Any thread. */
void jobs_gone(struct job *j);

/** Its worker does not come back from it: cancel it. It stays JOB_ENDING until
 * it does. */
void jobs_hung(struct jobs *js, struct job *j);
/** It has come back and its task may leave (live_client.back). Any thread. */
void jobs_back(struct job *j);

/** Figures. */
struct jobs_counts {
	unsigned waiting; /**< asked ones too */
	unsigned running;
	unsigned hung; /**< of the running ones */
	uint64_t submitted, refused, done, failed, cancelled;
	uint64_t frames; /**< of jobs that are over */
};
struct jobs_counts jobs_counts(const struct jobs *js);

#endif
