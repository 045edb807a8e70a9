/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of the recorded run and what became of them when they were played
 * again.
 */
#include "sim/agreement.h"

#include <stdlib.h>
#include <string.h>

#include "sim/picks.h"
#include "sim/worker_time.h"

/* Frames of one kind, and what became of them. */
struct became {
	size_t frames, lost;
	cr_ns p50, p99;
};

static bool same_scheduler(const char *recorded, const char *scheduler)
{
	size_t name = strcspn(recorded, ",");
	char options[96], wanted[96];
	char *save = NULL;

	if (name != strcspn(scheduler, ",") ||
	    strncmp(recorded, scheduler, name) != 0)
		return false;
	/* recorded are all options, given are those that differ */
	(void)snprintf(options, sizeof(options), "%s,", recorded + name);
	(void)snprintf(wanted, sizeof(wanted), "%s", scheduler + name);
	for (char *o = strtok_r(wanted, ",", &save); o;
	     o = strtok_r(NULL, ",", &save)) {
		char one[100];

		(void)snprintf(one, sizeof(one), ",%s,", o);
		if (!strstr(options, one))
			return false;
	}
	return true;
}

/* What became of the frames when @scheduler was at work as it was in the live
 * run; else in all of the time. */
static const struct replayed_job *replayed_of(const struct recording *r,
					      const char *scheduler)
{
	return scheduler && r->own ? r->own : r->replayed.job;
}

/* The last one that has begun by @at; NULL: none. */
static const struct recording_stretch *stretch_at(const struct recording *r,
						  cr_ns at)
{
	unsigned low = 0, high = r->nstretches;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (r->stretch[middle].from <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &r->stretch[low - 1] : NULL;
}

/* Did it come in time that is compared: in that of @scheduler; NULL: of any? */
static bool is_compared(const struct recording *r, size_t i,
			const char *scheduler)
{
	const struct replay_job *j = &r->replay.job[i];
	const struct recording_stretch *s;

	if (j->outcome == CR_OUT_CANCELLED ||
	    replayed_of(r, scheduler)[i].outcome == CR_OUT_CANCELLED)
		return false;
	s = stretch_at(r, j->at);
	return s && j->at < s->to &&
	       (!scheduler || same_scheduler(s->scheduler, scheduler));
}

static bool was_lost(uint8_t outcome)
{
	return outcome != CR_OUT_DONE && outcome != CR_OUT_SEND_FAILED &&
	       outcome != CR_OUT_BAD;
}

static struct became sum_frames(const struct recording *r,
				const char *scheduler, bool live)
{
	cr_ns *delay = malloc(r->replay.njobs * sizeof(*delay));
	struct became b = { 0 };
	size_t n = 0;

	for (size_t i = 0; delay && i < r->replay.njobs; i++) {
		const struct replay_job *j = &r->replay.job[i];
		const struct replayed_job *now = &replayed_of(r, scheduler)[i];

		if (!is_compared(r, i, scheduler))
			continue;
		b.frames++;
		b.lost += was_lost(live ? j->outcome : now->outcome);
		if (!was_lost(live ? j->outcome : now->outcome))
			delay[n++] =
				(live ? replay_sent(j) : now->sent) - j->at;
	}
	b.p50 = delay ? worker_time_quantile(delay, n, 50) : 0;
	b.p99 = delay ? worker_time_quantile(delay, n, 99) : 0;
	free(delay);
	return b;
}

struct picked {
	cr_ns live, now;
};

static int by_live(const void *a, const void *b)
{
	const struct picked *x = a, *y = b;

	if (x->live != y->live)
		return x->live < y->live ? -1 : 1;
	return (x->now > y->now) - (x->now < y->now);
}

/* The longest row of picks that both have in the same order. @last: as large
 * as @p. */
static size_t longest_row(struct picked *p, size_t n, cr_ns *last)
{
	size_t row = 0;

	if (n)
		qsort(p, n, sizeof(*p), by_live);
	for (size_t i = 0; i < n; i++) {
		size_t low = 0, high = row;

		while (low < high) {
			size_t middle = (low + high) / 2;

			if (last[middle] < p[i].now)
				low = middle + 1;
			else
				high = middle;
		}
		last[low] = p[i].now;
		row += low == row;
	}
	return row;
}

/* Of the picks of whichever has more, the share that both have in the same
 * order; -1: there is none. */
static double same_picks(const struct recording *r, const char *scheduler)
{
	struct picked *p = malloc(r->replay.njobs * sizeof(*p));
	cr_ns *last = malloc(r->replay.njobs * sizeof(*last));
	size_t n = 0, live = 0, now = 0, most;
	double same = -1;

	for (size_t i = 0; p && last && i < r->replay.njobs; i++) {
		const struct replay_job *j = &r->replay.job[i];
		cr_ns again = replayed_of(r, scheduler)[i].pick;

		if (!is_compared(r, i, scheduler))
			continue;
		live += replay_is_turn(j);
		now += again != CR_NEVER;
		if (replay_is_turn(j) && again != CR_NEVER)
			p[n++] = (struct picked){ j->pick, again };
	}
	most = live > now ? live : now;
	if (most)
		same = (double)longest_row(p, n, last) / (double)most;
	free(p);
	free(last);
	return same;
}

/* Live picks in the time of a scheduler. */
struct answers {
	size_t picks, asked; /* the first of each time it was at work */
	double same;	     /* share of @asked: it makes them again from the
				same queue */
};

static struct answers count_answers(const struct recording *r,
				    const char *scheduler)
{
	struct answers a = { 0 };
	size_t same = 0;

	for (size_t i = 0; r->answer && i < r->replay.njobs; i++) {
		if (!replay_is_turn(&r->replay.job[i]) ||
		    !is_compared(r, i, scheduler))
			continue;
		a.picks++;
		a.asked += r->answer[i] != PICK_UNKNOWN;
		same += r->answer[i] == PICK_SAME;
	}
	a.same = a.asked ? (double)same / (double)a.asked : 0;
	return a;
}

static double loss_of(const struct became *b)
{
	return b->frames ? (double)b->lost / (double)b->frames : 0;
}

static json_t *became_json(const struct became *b)
{
	if (!b->frames)
		return json_null();
	return json_pack("{s:I,s:I,s:f,s:I,s:I}", "frames",
			 (json_int_t)b->frames, "lost", (json_int_t)b->lost,
			 "loss", loss_of(b), "p50_ns", (json_int_t)b->p50,
			 "p99_ns", (json_int_t)b->p99);
}

json_t *agreement_json(const struct recording *r, const char *scheduler)
{
	const struct recording_overheads *o = &r->overheads;
	struct became live = sum_frames(r, scheduler, true);
	struct became own = sum_frames(r, scheduler, false);
	struct became all = sum_frames(r, NULL, false);
	double same = same_picks(r, scheduler);
	struct answers from_queue = count_answers(r, scheduler);
	json_t *overheads = json_pack(
		"{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "turns",
		(json_int_t)o->turns, "median_ns", (json_int_t)o->median,
		"p99_ns", (json_int_t)o->p99, "mean_ns", (json_int_t)o->mean,
		"context_ns", (json_int_t)o->context, "in_row",
		(json_int_t)o->in_row, "wakes", (json_int_t)o->wakes,
		"wake_median_ns", (json_int_t)o->wake_median, "wake_p99_ns",
		(json_int_t)o->wake_p99, "drawn", (json_int_t)o->drawn,
		"stolen", (json_int_t)o->stolen, "stolen_ns",
		(json_int_t)o->stolen_sum);

	return json_pack(
		"{s:s,s:b,s:I,s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:I,s:I}", "trace",
		r->path, "blocks", (int)r->blocks, "changes",
		(json_int_t)r->changes, "lost_records", (json_int_t)r->lost,
		"overheads", overheads, "live", became_json(&live), "own",
		became_json(&own), "all", became_json(&all), "same_picks",
		same < 0 ? json_null() : json_real(same), "same_queue",
		from_queue.asked ? json_real(from_queue.same) : json_null(),
		"same_queue_asked", (json_int_t)from_queue.asked,
		"same_queue_picks", (json_int_t)from_queue.picks);
}

static void became_line(FILE *f, const char *name, const struct became *b)
{
	(void)fprintf(f, "  %-26s %9zu %8.2f%% %9.3f %9.3f\n", name, b->frames,
		      100 * loss_of(b), (double)b->p50 / 1e6,
		      (double)b->p99 / 1e6);
}

bool agreement_has(const struct recording *r, const char *scheduler)
{
	for (unsigned i = 0; i < r->nstretches; i++)
		if (same_scheduler(r->stretch[i].scheduler, scheduler))
			return true;
	return false;
}

void agreement_report(const struct recording *r, const char *scheduler, FILE *f)
{
	struct became live = sum_frames(r, scheduler, true);
	struct became own = sum_frames(r, scheduler, false);
	struct became all = sum_frames(r, NULL, false);
	struct answers from_queue = count_answers(r, scheduler);

	if (r->imported)
		return;
	(void)fprintf(f, "  %-26s %9s %9s %9s %9s\n",
		      "recorded and played again", "frames", "lost", "p50 ms",
		      "p99 ms");
	if (live.frames) {
		became_line(f, "live, its own time", &live);
		became_line(f, "again, its own time", &own);
	}
	if (all.frames != own.frames)
		became_line(f, "again, all of the time", &all);
	if (live.frames)
		(void)fprintf(f, "  %.1f %% of the picks in the same order\n",
			      100 * same_picks(r, scheduler));
	if (from_queue.asked)
		(void)fprintf(f,
			      "  %.1f %% of the live picks from the same queue "
			      "(of the first %zu of %zu picks)\n",
			      100 * from_queue.same, from_queue.asked,
			      from_queue.picks);
}
