/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlines for one flow of best-effort jobs, from the capacity that calls
 * leave (residual.h): as early as they can be without making a call late. With
 * w(n) the longest that job n may take and r(n) its arrival, rules differ in
 * the curve e <= E they read (Chakraborty, Gries and Thiele, sections 3 and 4):
 *
 *     d(n) = max over i <= n of r(i) + e^-1(w(i) + ... + w(n))     Algorithm 1
 *
 * exact            e = E: no deadline can be earlier (their Theorem 3)
 * two-line         a line through the origin, then a steeper one: Algorithm 2
 * line             one line, from where E begins to rise, or from where its
 *                  user says: section 4.2
 * tbs              one line through the origin, of slope U, where the maximum
 *                  is w / U + max(r(n), d(n - 1)): the Total Bandwidth Server
 *                  of Spuri and Buttazzo, up to the next idle instant (below)
 * two-line-approx  as two-line, without history: the work before job n - 1 is
 *                  taken to be all that e allows until d(n - 1)
 * background       e = 0: no deadline
 *
 * What a job costs is known when it is done, so w is the worst case of its
 * task, and a line through the origin must hold for the shortest such w and all
 * above: where frames are not cut, E is 0 up to smax and no line through the
 * origin is below it everywhere.
 *
 * two-line-approx is section 4.3.1's idea, not its Algorithm 3, which takes
 * w(n - 1) for all the work until d(n - 1): the third of three jobs that come
 * at once would get the deadline of the second.
 *
 * History is bounded. Of jobs whose sum has reached the last piece of e, the
 * one that asks for most is enough, for from there on all of them move alike,
 * by w / slope. Of the others BE_SERVER_PAST are kept; when they are more, the
 * two nearest count as one that came at the later time, for which deadlines are
 * later, never earlier. After an instant at which nothing waited, all is
 * forgotten: what comes then does not depend on what was before. The published
 * Total Bandwidth Server keeps d(n - 1), so its next deadline may be later.
 *
 * When calls join or leave, the next deadline is from the new curve; what was
 * promised before was promised beside the calls that were there then. So a call
 * that joins in the middle of best-effort work has its own promise from the
 * next instant on at which nothing waits.
 *
 * A machine may be slower than it was when costs were measured. Whatever
 * anybody runs beyond its worst case is charged as if best effort had asked for
 * it.
 *
 * One CPU: on several, no capacity of intervals is known that would do.
 */
#ifndef SCHEDULERS_BE_SERVER_H
#define SCHEDULERS_BE_SERVER_H

#include "schedulers/residual.h"

#define BE_SERVER_PAST 64u

/** The rules; values of the option. */
enum be_rule {
	BE_TBS,
	BE_LINE,
	BE_TWO_LINE,
	BE_TWO_LINE_APPROX,
	BE_EXACT,
	BE_BACKGROUND
};

/** A job that counts: all work promised from it on is since - before. */
struct be_past {
	cr_ns at, before;
};

/** The facts that a refund needs. */
struct be_undo {
	cr_ns at, last, work;
	struct be_past far;
	bool busy, has_far;
	bool moved; /**< past jobs have become far */
	bool own;   /**< the job is past[npast - 1] */
	bool spent; /**< there is nothing to undo */
};

/** Zero, with a rule, is a server that has promised nothing. */
struct be_server {
	enum be_rule rule;
	struct curve_request request; /**< of the rule line */
	struct curve curve;
	bool busy;   /**< it has promised something since it was reset       */
	cr_ns since; /**< all work promised */
	cr_ns at;    /**< of the last job; arrivals never go back            */
	cr_ns last;  /**< its deadline                                       */
	struct be_past past[BE_SERVER_PAST];
	unsigned npast;
	bool has_far; /**< there are jobs on the last piece ...              */
	struct be_past far;  /**< ... and this one asks for most              */
	struct be_undo undo; /**< of the last promise                       */
};

/** The rule's curve for calls @r, frames of at most @smax that are not cut (or
 * 0) and best-effort jobs of @least and more. */
void be_server_curve(struct be_server *s, const struct residual *r, cr_ns smax,
		     cr_ns least);

/** A job came at @at that takes @work at most: its deadline. CR_NEVER: the
 * calls leave nothing; then nothing was promised. */
cr_ns be_server_promise(struct be_server *s, cr_ns at, cr_ns work);

/** The job of the last promise was not run and will not be. */
void be_server_refund(struct be_server *s);

/** A job ran @over longer than its worst case until @now: that is taken from
 * best effort, whose next promises are the later for it. */
void be_server_charge(struct be_server *s, cr_ns now, cr_ns over);

/** There was an instant, at @now at the latest, at which nothing waited. */
void be_server_reset(struct be_server *s, cr_ns now);

/** Do the invariants hold? */
bool be_server_check(const struct be_server *s);

#endif
