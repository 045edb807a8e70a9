/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics of a simulated call's jobs.
 */
#include "sim/outcome.h"

#include "sim/call_trace.h"

static void note(const struct sim_call *c, const struct cr_job *job,
		 struct replayed_job became)
{
	const struct replayed *r = c->part->w->replayed;

	if (r)
		r->job[&c->arrival.replay[job->seq] - r->first] = became;
}

void outcome_undone(struct sim_call *c, const struct cr_job *job, cr_ns waited,
		    enum cr_outcome why, cr_ns now)
{
	struct flow_stats *s = c->stats;

	s->overwritten += why == CR_OUT_OVERWRITTEN;
	s->expired += why == CR_OUT_EXPIRED;
	s->shed += why == CR_OUT_SHED;
	s->left += why == CR_OUT_CANCELLED;
	s->unreceived += why == CR_OUT_UNRECEIVED;
	s->unbuffered += why == CR_OUT_UNBUFFERED;
	c->sum.overwritten += why == CR_OUT_OVERWRITTEN;
	c->sum.expired += why == CR_OUT_EXPIRED;
	c->sum.shed += why == CR_OUT_SHED;
	c->sum.left += why == CR_OUT_CANCELLED;
	c->sum.unreceived += why == CR_OUT_UNRECEIVED;
	c->sum.unbuffered += why == CR_OUT_UNBUFFERED;
	if (job->deadline <= c->part->w->end) {
		s->due++;
		s->missed++;
		c->sum.missed++;
	}
	note(c, job, (struct replayed_job){ CR_NEVER, CR_NEVER, (uint8_t)why });
	if (c->part->w->trace)
		call_trace_undone(c, job, waited, why, now);
}

static cr_ns distance(cr_ns a, cr_ns b)
{
	return a > b ? a - b : b - a;
}

static void count_delay(struct sim_call *c, const struct cr_job *job, cr_ns now)
{
	struct flow_stats *s = c->stats;
	bool late = now > job->deadline;
	cr_ns delay = now - job->arrival + c->waited;

	s->late += late;
	c->sum.late += late;
	if (job->deadline <= c->part->w->end) {
		s->due++;
		s->missed += late;
		c->sum.missed += late;
	}
	c->sum.delay += delay;
	c->sum.delay_max = cr_ns_max(c->sum.delay_max, delay);
	histogram_add(&s->delay, delay);
	if (c->buffer)
		histogram_add(&s->buffered, c->waited);
}

void outcome_done(struct sim_call *c, const struct cr_job *job, cr_ns now)
{
	struct flow_stats *s = c->stats;

	s->done++;
	c->sum.done++;
	s->moves += c->st.moves;
	s->splits += c->st.splits;
	s->service += c->total;
	count_delay(c, job, now);
	note(c, job, (struct replayed_job){ c->st.first, now, CR_OUT_DONE });
	if (c->worked && job->seq == c->last_frame + 1)
		histogram_add(&s->jitter,
			      distance(now - c->last_end, c->flow->ptime));
	c->worked = true;
	c->last_end = now;
	c->last_frame = job->seq;
	c->part->jobs++;
}
