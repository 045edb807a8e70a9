/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capacity that calls with deadlines leave on one CPU (Chakraborty, Gries
 * and Thiele, "Supporting a low delay best-effort class in the presence of
 * real-time traffic", section 3):
 *
 *     R(t) = t - (sum of A(t - d) + smax)     E(t) = min of R(t') over t' >= t
 *
 * A is a call's arrival curve: the most work that comes in any interval of a
 * length, 0 before 0; d its relative deadline; smax the longest frame of
 * anybody, 0 where frames are cut. In every interval of length t, E(t) can be
 * promised to others.
 *
 * A curve follows from struct cr_contract, as a TSpec's does (RFC 2215), with C
 * the longest job:
 *
 *     A(t) = C * min(1 + peak * t, jobs + burst + jobs / per * t)
 *
 * and of a call that promised nothing from its period: C * (1 + t / period).
 * These are the curves of senders that may send anything up to them, in pieces
 * of any size; where jobs come whole there is more room than E says.
 *
 * Calls of equal shape are summed, so that R has few pieces whatever the number
 * of calls. Shapes beyond RESIDUAL_SHAPES are taken together, with the earliest
 * of their deadlines and no bound on the peak: less capacity, never more.
 *
 * Integers: times in ns, slopes in units of 2^-32, all rounded against the best
 * effort; one division of 64 bits for an inverse, no allocation.
 */
#ifndef SCHEDULERS_RESIDUAL_H
#define SCHEDULERS_RESIDUAL_H

#include "cr/sched.h"

#define RESIDUAL_SHAPES 32u
/** Two breaks for each shape, one for the rest, one at 0. */
#define CURVE_PIECES (2u * RESIDUAL_SHAPES + 2u)
/** Slope of a whole CPU. */
#define CURVE_ONE (INT64_C(1) << 32)

/** The form of a curve, which calls share up to a factor. */
struct residual_shape {
	cr_ns deadline, per;
	uint32_t jobs, burst, peak;
};

/** The calls of a shape. */
struct residual_sum {
	struct residual_shape shape;
	cr_ns cost; /**< of the longest jobs, summed */
	unsigned tasks;
};

/** All calls with deadlines; zero is none. */
struct residual {
	struct residual_sum sum[RESIDUAL_SHAPES];
	unsigned nsums;
	/** Those that found no room among the shapes. */
	struct {
		cr_ns deadline, cost;
		int64_t slope;
		unsigned tasks;
	} rest;
};

/** A rising part of a curve: heights above @y are reached on the line of
 * @slope through (@t, @y), up to the height of the next part. */
struct curve_piece {
	cr_ns t, y;
	int64_t slope;
};

/** A function that never falls, from its inverse's point of view: flat parts
 * are left out. No pieces: 0 everywhere. */
struct curve {
	struct curve_piece piece[CURVE_PIECES];
	unsigned n;
	cr_ns top; /**< never above this; CR_NEVER: grows without end */
};

/** @t, which has a deadline, joins. Returns whether it counts among the rest,
 * which residual_del() has to know. */
bool residual_add(struct residual *r, const struct cr_task *t);
void residual_del(struct residual *r, const struct cr_task *t, bool rest);

/** E for frames of at most @smax that are not cut, or 0. */
void residual_curve(const struct residual *r, cr_ns smax, struct curve *e);

/** The steepest line through the origin below @e, as far as jobs of @least and
 * more can tell: the rule of a Total Bandwidth Server. */
void curve_line_from_origin(const struct curve *e, cr_ns least,
			    struct curve *line);

/** A requested line. Zero is the steepest that there is. */
struct curve_request {
	cr_ns begin;   /**< where it leaves 0, but not before @e does */
	int64_t slope; /**< 0, and more than is below @e: the steepest there */
};

/** The line below @e that comes next to @request. */
void curve_line(const struct curve *e, const struct curve_request *request,
		struct curve *line);

/** The line through the origin, then a steeper one: that of the slope that @e
 * has in the end, or curve_line()'s where the other would be below it. Nowhere
 * below either line. */
void curve_two_lines(const struct curve *e, cr_ns least, struct curve *lines);

/** The least t at which @c is @y (>= 0), rounded up; CR_NEVER: never. */
cr_ns curve_inverse(const struct curve *c, cr_ns y);

/** The value of @c at @t, rounded up. */
cr_ns curve_at(const struct curve *c, cr_ns t);

#endif
