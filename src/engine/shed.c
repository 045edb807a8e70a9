/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule of engine/shed.h. A share that is to be given up, such as 20 %, is
 * added up frame by frame; at 1 a frame goes (error diffusion). So shares are
 * kept to the frame, evenly, without chance.
 */
#include "engine/shed.h"

#include <stddef.h>

/* A frame counts as much in seen[]; at SEEN_MOST, all counts are halved: the
 * last 256 to 512 frames weigh. */
#define SEEN_ONE 64u
#define SEEN_MOST (512u * SEEN_ONE)
/* Frames from one look at the loudest to the next. */
#define LOOK 32u
/* The loudest fades by a bin in so many frames, 20 s: who listens for a minute
 * is still known as silent. */
#define FADE 1024u
/* The loudest sixteenth of the frames: a click is no talker. */
#define LOUDEST 16u
/* Frames of a call, and of a run queue, over which shares are formed; and 1 as
 * such a share: finer than others, for it fades by small parts of itself. */
#define LOST_CALL 256u
#define LOST_QUEUE 2048u
#define LOST_ONE (1u << 24)
/* More frames missing in a row say nothing more. */
#define GONE_MOST 8u

const char *const shed_names[] = { "age", "pattern", "quiet", NULL };

cr_ns shed_set_point(const struct shed_rule *r, const struct cr_task *t)
{
	if (r->wait)
		return r->wait;
	return t->cls == CR_BE ? t->period
			       : cr_ns_max(t->period, t->rel_deadline);
}

static unsigned bin_of(uint8_t importance)
{
	unsigned bin = importance / SHED_BIN_STEPS;

	return bin < SHED_BINS ? bin : SHED_BINS - 1;
}

/* --- what a call sounds like --- */

static void find_loudness(struct shed_call *c)
{
	uint32_t sum = 0;
	unsigned loud = SHED_BINS;

	/* the quietest of the loudest bins that together have a sixteenth */
	while (loud > 0 && sum * LOUDEST < c->sum)
		sum += c->seen[--loud];
	c->since = 0;
	c->held = (uint16_t)(c->held + LOOK);
	if (loud < c->loud && c->held < FADE)
		return;
	c->loud = (uint8_t)(loud < c->loud ? c->loud - 1u : loud);
	c->held = 0;
}

static void hear(struct shed_call *c, uint8_t importance)
{
	if (importance == CR_IMPORTANCE_UNKNOWN)
		return;
	c->seen[bin_of(importance)] += SEEN_ONE;
	c->sum += SEEN_ONE;
	if (c->sum >= SEEN_MOST) {
		c->sum = 0;
		for (unsigned i = 0; i < SHED_BINS; i++) {
			c->seen[i] /= 2;
			c->sum += c->seen[i];
		}
	}
	if (++c->since == LOOK)
		find_loudness(c);
}

/* Bins below this one are pauses. */
static unsigned floor_of(const struct shed_call *c)
{
	return c->loud > SHED_PAUSE_BINS ? c->loud - SHED_PAUSE_BINS + 1u : 0;
}

/* To a rule that does not listen, all is speech. */
static bool is_pause(const struct shed_rule *r, const struct shed_call *c,
		     const struct cr_job *job)
{
	return r->kind == SHED_QUIET && !job->must_keep &&
	       (job->importance == CR_IMPORTANCE_NOTHING ||
		(job->importance != CR_IMPORTANCE_UNKNOWN &&
		 bin_of(job->importance) < floor_of(c)));
}

/* --- what it has lost --- */

static void count_share(uint32_t *share, bool lost, unsigned over)
{
	*share -= *share / over;
	if (lost)
		*share += LOST_ONE / over;
}

static void count_speech(struct shed_queue *q, struct shed_call *c, bool lost)
{
	count_share(&c->lost, lost, LOST_CALL);
	if (q)
		count_share(&q->lost, lost, LOST_QUEUE);
}

/* Frames in front of @seq that never came to be asked about: the call's buffer
 * was full. */
static void count_gone(struct shed_queue *q, struct shed_call *c, uint64_t seq)
{
	uint64_t gone = c->begun && seq > c->next ? seq - c->next : 0;

	for (unsigned i = 0; i < gone && i < GONE_MOST; i++)
		count_speech(q, c, true);
	c->begun = true;
	c->next = seq + 1;
}

/* Twice as much of a call that has lost nothing, ever less of one that has lost
 * more than others. */
static uint64_t spread_loss(const struct shed_queue *q,
			    const struct shed_call *c, uint64_t share)
{
	uint64_t all = q ? q->lost : 0, both = all + c->lost;

	if (!q || !both)
		return share;
	share = share * 2 * all / both;
	return share < SHED_ONE ? share : SHED_ONE;
}

/* --- how much is to be given up --- */

/* The waits at which pauses begin to go, and all of them do; at which speech
 * begins to go, and all does. Between them a machine may be slow for a moment
 * at the cost of delay alone. */
#define FROM SHED_ONE
#define PAUSES (SHED_ONE + SHED_ONE * 3 / 10)
#define SPEECH (SHED_ONE + SHED_ONE * 6 / 10)
#define ALL (2 * SHED_ONE)
/* No wait is longer. */
#define PARTS_MOST (5000u * SHED_ONE)

static uint32_t parts_of_set(cr_ns t, cr_ns set)
{
	if (t <= 0)
		return 0;
	return t / 5000 < set ? (uint32_t)((__int128)t * SHED_ONE / set)
			      : PARTS_MOST;
}

/* The wait that counts, in parts of @set. That of three of four frames is
 * found by steps: a longer one raises it by three times the time since the last
 * report, a shorter one lowers it by once that. */
static uint32_t wait_of(struct shed_queue *q, enum cr_class cls, cr_ns waited,
			cr_ns set, cr_ns now)
{
	uint32_t own = parts_of_set(waited, set), since, *wait;

	if (!q)
		return own;
	wait = &q->late[cls].wait;
	since = parts_of_set(now - q->late[cls].at, set);
	q->late[cls].at = now;
	if (own > *wait)
		*wait = own - *wait < 3 * since ? own : *wait + 3 * since;
	else
		*wait = *wait - own < since ? own : *wait - since;
	return *wait > own ? *wait : own;
}

/* The part of the way from @from to @to that @wait has covered. */
static uint64_t part_of_range(uint32_t wait, uint32_t from, uint32_t to)
{
	if (wait <= from)
		return 0;
	return wait < to ? (uint64_t)(wait - from) * SHED_ONE / (to - from)
			 : SHED_ONE;
}

/* Of the frames in @bin, if @share of all from bin @from to before @to is to go
 * and what is quieter goes before. */
static uint64_t share_of_bin(const struct shed_call *c, unsigned from,
			     unsigned to, unsigned bin, uint64_t share)
{
	uint64_t all = 0, below = 0, want;

	for (unsigned i = from; i < to; i++) {
		if (i == bin)
			below = all;
		all += c->seen[i];
	}
	want = share * all;
	if (want <= below * SHED_ONE || !c->seen[bin])
		return 0;
	want = (want - below * SHED_ONE) / c->seen[bin];
	return want < SHED_ONE ? want : SHED_ONE;
}

/* A frame that declares itself silence is in the first bin, though nobody may
 * have spoken yet. */
static uint64_t share_of_pause(const struct shed_call *c, unsigned bin,
			       uint64_t share)
{
	unsigned end = floor_of(c);

	return bin < end ? share_of_bin(c, 0, end, bin, share) : share;
}

static uint64_t share_to_shed(const struct shed_rule *r,
			      const struct shed_queue *q,
			      const struct shed_call *c, uint8_t importance,
			      uint32_t wait)
{
	if (r->kind == SHED_PATTERN)
		return spread_loss(q, c, part_of_range(wait, FROM, ALL));
	if (importance == CR_IMPORTANCE_UNKNOWN)
		return 0;
	if (c->pause)
		return share_of_pause(c, bin_of(importance),
				      part_of_range(wait, FROM, PAUSES));
	return share_of_bin(
		c, floor_of(c), SHED_BINS, bin_of(importance),
		spread_loss(q, c, part_of_range(wait, SPEECH, ALL)));
}

/* --- the verdict --- */

/* @share of frames like this one are to go: does this one? */
static bool take_turn(struct shed_call *c, uint64_t share, unsigned most)
{
	if (!share) {
		c->row = 0;
		return false;
	}
	c->due += (uint32_t)share;
	if (c->due < SHED_ONE || c->row >= most) {
		/* a frame that a limit has kept is not asked for again */
		c->due = c->due < SHED_ONE ? c->due : SHED_ONE - 1;
		c->row = 0;
		return false;
	}
	c->due -= SHED_ONE;
	c->row++;
	return true;
}

static enum shed_verdict give_up_or_keep(const struct shed_rule *r,
					 struct shed_queue *q,
					 struct shed_call *c,
					 uint8_t importance, uint32_t wait)
{
	bool gone = false;

	if (wait < FROM)
		c->due = c->row = 0;
	else
		gone = take_turn(c, share_to_shed(r, q, c, importance, wait),
				 c->pause ? SHED_ROW_PAUSE : SHED_ROW_SPEECH);
	if (!c->pause)
		count_speech(q, c, gone);
	if (!gone)
		return SHED_KEEP;
	return c->pause ? SHED_PAUSE : SHED_SPEECH;
}

enum shed_verdict shed_ask(const struct shed_rule *r, struct shed_queue *q,
			   struct shed_call *c, const struct cr_task *t,
			   cr_ns waited, cr_ns now)
{
	uint32_t wait;
	bool paused;

	if (r->kind == SHED_AGE)
		return SHED_KEEP;
	count_gone(q, c, t->job.seq);
	wait = wait_of(q, t->cls, waited, shed_set_point(r, t), now);
	if (r->kind == SHED_QUIET && !t->job.must_keep)
		hear(c, t->job.importance);
	paused = c->pause;
	c->pause = is_pause(r, c, &t->job);
	if (!cr_may_give_up(t))
		return SHED_KEEP;
	c->before = c->row;
	if (c->pause && !paused) {
		c->row = 0;
		return SHED_KEEP;
	}
	return give_up_or_keep(r, q, c, t->job.importance, wait);
}

void shed_lost(const struct shed_rule *r, struct shed_queue *q,
	       struct shed_call *c, const struct cr_job *job)
{
	bool asked = c->begun && job->seq < c->next;

	if (r->kind == SHED_AGE)
		return;
	if (!asked)
		count_gone(q, c, job->seq);
	c->pause = is_pause(r, c, job);
	if (job->must_keep)
		return;
	if (asked) /* it did not break the row after all */
		c->row = c->before;
	if (c->row < SHED_ROW_PAUSE)
		c->row++;
	if (c->pause)
		return;
	if (asked) {
		c->lost += LOST_ONE / LOST_CALL;
		if (q)
			q->lost += LOST_ONE / LOST_QUEUE;
	} else {
		count_speech(q, c, true);
	}
}
