/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a packet of each codec pair costs on this machine (mean, variance, 99th
 * percentile): reckoned from its parts, then learned from the streams that run.
 * The book measures nothing: it says which part it has to be told first.
 *
 * A part is what is measured to know what a stream costs: a codec in one mode,
 * both directions, or conversion between two sampling rates. A stream has two
 * codecs and perhaps a conversion, so few parts make all pairs of codecs:
 * codecs, modes and packet lengths are a few hundred, and that is all there
 * ever are. Parts are pure but for cost_part_measure(), which takes CPU time;
 * any thread.
 *
 * The book never fills. An entry that no stream has stays, with what was
 * learned, until it is needed for another pair: then the one that was used
 * longest ago gives way, once there are COSTS_KEPT of them. Control thread.
 */
#ifndef NODE_COSTS_H
#define NODE_COSTS_H

#include <stdatomic.h>
#include <sys/queue.h>

#include "cost/learner.h"
#include "cr/sched.h"
#include "media/pipeline.h"
#include "node/info.h"

/** Most parts of a stream. */
enum { COST_PARTS = 3 };

struct cost_part {
	struct codec_use use; /**< its codec NULL: conversion */
	unsigned from, to;    /**< of the conversion, Hz */
};

/** The cost of a frame of a part. */
struct cost_value {
	struct cr_cost enc, dec; /**< of a conversion: enc */
	cr_ns frame;
};

bool cost_part_same(const struct cost_part *a, const struct cost_part *b);

/** Cost that @p declares itself, as "spin" does. False: it must be measured. */
bool cost_part_declared(const struct cost_part *p, struct cost_value *out);

/**
 * Measure @p: some 20 ms of CPU time on this thread. -ECANCELED soon after
 * *@stop is set (NULL: never); -EINVAL, -ENOMEM with @e: the codec refuses, or
 * memory is short.
 */
int cost_part_measure(const struct cost_part *p, const atomic_bool *stop,
		      struct cost_value *out, struct cr_err *e);

enum {
	/** Entries without streams; 3.5 KB each. */
	COSTS_KEPT = 1024,
	/** Entries that costs_at() shows at most. */
	COSTS_SHOWN = 32
};

struct costs;

/** One codec pair with modes and frame length. */
struct cost_entry {
	char name[96];	     /**< "pcmu>amr/12.2@20ms"              */
	struct cr_cost cost; /**< CPU time per packet               */
	cr_ns measured;	     /**< its mean by the parts; see costs_find() */
	struct cost_learner learner;
	unsigned streams; /**< running now                        */
	unsigned holders; /**< costs_hold()                       */
	cr_ns period;	  /**< between two packets                */
	TAILQ_ENTRY(cost_entry) link;
	LIST_ENTRY(cost_entry) chain;
};

struct costs *costs_new(void);	  /**< NULL: out of memory */
void costs_free(struct costs *c); /**< NULL is fine */

/**
 * The entry for @media with packets every @period into *@out: valid until the
 * next costs_find(), or as long as it is held. -EAGAIN: *@missing has to be put
 * into the book first; -ENOMEM with @e.
 */
int costs_find(struct costs *c, const struct pipeline_cfg *media, cr_ns period,
	       struct cost_entry **out, struct cost_part *missing,
	       struct cr_err *e);

/** A new entry, which costs_find() did not find, of which @cost is said: its
 * parts stay unknown. 0; -ENOMEM with @e. */
int costs_believe(struct costs *c, const struct pipeline_cfg *media,
		  cr_ns period, const struct cr_cost *cost,
		  struct cost_entry **out, struct cr_err *e);

/** CPU time of sending a packet on loopback, which every entry has. */
cr_ns costs_send(const struct costs *c);

/** @part costs @v. 0 or -ENOMEM. What is there already stays. */
int costs_put(struct costs *c, const struct cost_part *part,
	      const struct cost_value *v);

enum { COST_TEXT = 256 };
/** Part @i as a line for another process, which need not measure it. False:
 * there are no more. */
bool costs_write_part(const struct costs *c, unsigned i, char text[COST_TEXT]);
/** Put a part of such a line into the book. 0; -ENOMEM; -EINVAL: it is none, or
 * of a codec that is not here. */
int costs_read_part(struct costs *c, const char *text);

/** Keep @entry until it is released as often as held. */
void costs_hold(struct costs *c, struct cost_entry *entry);
void costs_release(struct costs *c, struct cost_entry *entry);

/** @n more packets of @entry have taken @ns[] each. Its cost follows when there
 * are LEARNER_ENOUGH of them. */
void costs_learn(struct cost_entry *entry, const uint32_t *ns, unsigned n);

/** Measured load of all running streams, ppm of one CPU. */
int64_t costs_load_ppm(const struct costs *c);

/** Entries there are. */
unsigned costs_count(const struct costs *c);

/** Entry number @i of those shown into @out: those that streams have, then
 * those used last, COSTS_SHOWN in all. False: there are no more. */
bool costs_at(const struct costs *c, unsigned i, struct node_cost_info *out);

#endif
