/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is measured to know what a call costs: a codec in one mode, both
 * directions, or conversion between two sampling rates. A call has two codecs
 * and perhaps a conversion, so few parts make all pairs of codecs: codecs,
 * modes and packet lengths are a few hundred, and that is all there ever are.
 *
 * Pure but for cost_part_measure(), which takes CPU time. Any thread.
 */
#ifndef NODE_COST_PART_H
#define NODE_COST_PART_H

#include <stdatomic.h>

#include "media/pipeline.h"
#include "cr/sched.h"

/** Most parts of a call. */
enum { COST_PARTS = 3 };

struct cost_part {
	const struct cr_codec *codec; /**< NULL: conversion     */
	struct cr_codec_cfg cfg;      /**< of the codec         */
	unsigned from, to;	      /**< of the conversion, Hz */
};

/** What a frame of a part costs. */
struct cost_value {
	struct cr_cost enc, dec; /**< of a conversion: enc */
	cr_ns frame;
};

/** The parts of @media, the input first. Returns how many. */
unsigned cost_parts(const struct pipeline_cfg *media,
		    struct cost_part part[COST_PARTS]);

bool cost_part_same(const struct cost_part *a, const struct cost_part *b);

/** What @p says itself that it costs, as "spin" does. False: it has to be
 * measured. */
bool cost_part_declared(const struct cost_part *p, struct cost_value *out);

/**
 * Measure @p: some 20 ms of CPU time on this thread. -ECANCELED soon after
 * *@stop is set (NULL: never); -EINVAL, -ENOMEM with @e: the codec refuses, or
 * memory is short.
 */
int cost_part_measure(const struct cost_part *p, const atomic_bool *stop,
		      struct cost_value *out, struct cr_err *e);

#endif
