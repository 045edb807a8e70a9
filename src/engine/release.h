/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Release models: from the arrivals of a task's frames to eligible times and
 * deadlines (thesis chapter 4, the 1996 paper for LBAP). Each task has one
 * small state, owned by the thread that sees the arrivals (rx, or the
 * simulator).
 *
 * A buffer that drops frames needs a second state, for the frames that are
 * served: a frame that is gone takes no time from the ones behind it. If
 * dropped frames counted, the logical arrivals of a call that once sent more
 * than its buffer holds would stay ahead by the length of the buffer. And where
 * frames are held until then, each would be dropped just before its time.
 */
#ifndef ENGINE_RELEASE_H
#define ENGINE_RELEASE_H

#include "cr/error.h"
#include "cr/time.h"

enum release_kind {
	RELEASE_SPORADIC, /**< eligible = arrival, at least a period apart   */
	RELEASE_PERIODIC, /**< eligible = first arrival + i * period, held to
			       the arrival when the frame comes late          */
	RELEASE_RATE,	  /**< rate-based (x, y, d), thesis 4.2              */
	RELEASE_LBAP	  /**< l(i) = max(arrival, l(i-1) + 1/R), burst B    */
};

#define RELEASE_MAX_X 64u

struct release_cfg {
	cr_ns y;	/**< rate-based: in a window of this length ...  */
	unsigned x;	/**< ... so many jobs, 1..RELEASE_MAX_X          */
	unsigned burst; /**< LBAP: jobs that may come ahead of time      */
	cr_ns spacing;	/**< LBAP: 1/R; 0: the period                    */
	enum release_kind kind;
	cr_ns period;	    /**< > 0 */
	cr_ns rel_deadline; /**< > 0; d of the rate-based model              */
	/** Logical arrivals lead real ones by no more; 0: as the models say,
	 * without end. A sender whose clock is fast by 50 ppm would otherwise
	 * be four seconds behind everybody after a day, and one that once
	 * flooded for ever. */
	cr_ns ahead_max;
};

/** Let logical arrivals lead real ones by no more than a buffer of @frames
 * holds, for that cannot wait for its turn (a flood is over when the buffer has
 * forgotten it); or by what shows that a burst was too long. */
void release_hold(struct release_cfg *r, unsigned frames);

/** Per-task state. Zero, then release_init(). What every arrival needs is
 * together, from cfg.kind to last. */
struct release {
	struct release_cfg cfg;
	uint64_t count; /**< arrivals so far, or since the grid was laid  */
	cr_ns first;	/**< arrival of the first                         */
	cr_ns last;	/**< eligible time of the previous one            */
	uint64_t violations; /**< LBAP: arrivals beyond the burst            */
	cr_ns deadline[RELEASE_MAX_X]; /**< rate: of the last x arrivals     */
};

struct release_times {
	cr_ns eligible, deadline;
};

/** -EINVAL with @e when @cfg makes no sense. */
int release_init(struct release *r, const struct release_cfg *cfg,
		 struct cr_err *e);

/** A frame arrived at @arrival (never going back): when it counts as arrived,
 * and when it must be done. The thread that owns @r. */
struct release_times release_arrival(struct release *r, cr_ns arrival);

/** The answer of release_arrival(); nothing is counted. */
struct release_times release_next(const struct release *r, cr_ns arrival);

/** Go on by other terms: @cfg, which release_init() would take, has another
 * period, rel_deadline, burst or spacing, or is of kind LBAP where @r was
 * SPORADIC or the reverse. What came before still counts; a grid is laid anew
 * from there if the period is another one. The thread that owns @r. */
void release_change(struct release *r, const struct release_cfg *cfg);

#endif
