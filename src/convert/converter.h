/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conversions of a node: submitted, waiting for their turn, running, and
 * for a while after their end.
 *
 *   submit --> ASKED --> WAITING --> RUNNING --> DONE | FAILED
 *                |          |           | cancel
 *                v          |           v
 *             refused       |        ENDING --> CANCELLED (or DONE, if that
 *                           +-------------------^ cancel     was first)
 *
 * Few run at a time: a waiting one costs no file, buffer, codec or task. One
 * that is asked is nobody's yet: it cannot be found. One whose cost nobody
 * knows yet waits for that, too, and lets others go first meanwhile.
 *
 * Thread rule: the event base's thread ("control"), but for converter_gone().
 */
#ifndef CONVERT_CONVERTER_H
#define CONVERT_CONVERTER_H

#include <stdbool.h>
#include <sys/queue.h>

#include <event2/event.h>

#include "convert/conversion.h"

struct converter;

struct converter_config {
	struct event_base *base;
	struct live *live;
	const void *kind;   /**< live_task.kind of its tasks               */
	const char *dir;    /**< the spool folder                          */
	uint64_t max_bytes; /**< largest input                             */
	unsigned max;	    /**< waiting and running together              */
	unsigned running;   /**< at a time; fewer of few descriptors       */
	unsigned floor;	    /**< frames a second for each; 0: what is left */
	/** Put the cost of a frame of @cv into cv->cfg.cost, just before it
	 * starts. 0, or -errno with @e. -EAGAIN, and cv->pricing is set: it has
	 * to be measured; converter_priced() follows, but not from in here. */
	int (*price)(void *arg, struct conversion *cv, struct cr_err *e);
	/** converter_priced() must not follow any more. */
	void (*unprice)(void *arg, struct conversion *cv);
	/** @cv runs now. */
	void (*started)(void *arg, const struct conversion *cv);
	/** @cv is over, see its state. It stays for converter_find() as one of
	 * the last CONVERSIONS_KEPT. */
	void (*ended)(void *arg, const struct conversion *cv);
	void *arg;
};

/** Conversions that can be asked for after their end. */
enum { CONVERSIONS_KEPT = 1000 };

/** Open the spool and start the I/O thread. 0, or -errno with @e. */
int converter_open(struct converter **con, const struct converter_config *cfg,
		   struct cr_err *e);
/** Go on with max, running and floor of @to. Those that wait or run
 * beyond them end as usual; each goes on with the floor that it was submitted
 * with. */
void converter_change(struct converter *con, const struct converter_config *to);
/** Cancel all, refuse those that are asked, and wait until they have gone, but
 * for the hung ones; runs the event base meanwhile. No new ones after that.
 * NULL is fine. */
void converter_end(struct converter *con);
/** Wait for those, too. */
void converter_end_all(struct converter *con);
/** Free, after converter_end() and the end of the engine's workers. NULL is
 * fine.
 */
void converter_close(struct converter *con);

/**
 * Submit a conversion. Of @cfg the members in, out, mode, dtx, overwrite, id
 * and to.rate (0: the input's, or what the codec has) count. Returns 0: the
 * asker will be told what has become of it, when its files have been looked at;
 * or -EINVAL: names without a known ending, or the same twice; -ENOSPC when too
 * many wait; -ESHUTDOWN after converter_end(); -ENOMEM; with @e. Told are,
 * besides, -EBUSY: another conversion makes that file; and what
 * conversion_io_look() says.
 */
int converter_submit(struct converter *con, const struct conversion_cfg *cfg,
		     const char *owner, const struct conversion_asker *asker,
		     struct cr_err *e);

/** Cancel @cv. 0; or -EALREADY: it is over. */
int converter_cancel(struct converter *con, struct conversion *cv);

/* Of no converter (NULL) there are none. */

/** The conversion with this id, or NULL. */
struct conversion *converter_find(struct converter *con, uint32_t id);
/** The first one with an id above @id, or NULL. */
struct conversion *converter_after(struct converter *con, uint32_t id);
/** Is one of those that are not over @owner's, be it asked for only? */
bool converter_has(const struct converter *con, const char *owner);
/** Those of @from are @to's from now on. */
void converter_pass(struct converter *con, const char *from, const char *to);
/** The number that wait or run, but for the hung ones. */
unsigned converter_active(const struct converter *con);

/** The cost of @cv is known now, or @err and @why it cannot be. */
void converter_priced(struct converter *con, struct conversion *cv, int err,
		      const struct cr_err *why);

/** Try again to start conversions that the engine had no room for. Once a
 * second. */
void converter_tick(struct converter *con);

/** Its task has left the engine. Any thread. */
void converter_gone(struct conversion *cv);

/** Its worker does not come back from it: cancel it. It stays CONVERSION_ENDING
 * until it does. */
void converter_hung(struct converter *con, struct conversion *cv);
/** It has come back and its task may leave (live_client.back). Any thread. */
void converter_back(struct conversion *cv);

/** The most descriptors that the files of running ones have. NULL: 0. */
unsigned converter_descriptors(const struct converter *con);

/** Figures. */
struct converter_counts {
	unsigned waiting; /**< asked ones too */
	unsigned running;
	unsigned hung; /**< of the running ones */
	uint64_t submitted, refused, done, failed, cancelled;
	uint64_t frames; /**< of conversions that are over */
};
struct converter_counts converter_counts(const struct converter *con);

#endif
