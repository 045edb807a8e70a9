/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrival curves summed, residual capacity, and the lines below it.
 */
#include "schedulers/residual.h"

/* Beyond any sum of costs, and safe to add to. */
#define FAR (INT64_C(1) << 61)
/* A burst of this work (10 h) leaves nothing either, and sums of it hold. */
#define LONG (INT64_C(1) << 45)
/* Steeper than any sum of rates that leaves something. */
#define STEEP (INT64_C(1) << 48)

/* --- numbers --- */

/* rest * 2^32 / b of rest < b, down. One division where it fits. */
static uint64_t residual_fraction(uint64_t rest, uint64_t b)
{
	uint64_t part = 0;

	if (b <= (uint64_t)CURVE_ONE)
		return (rest << 32) / b;
	for (unsigned bit = 0; bit < 32; bit++) {
		rest <<= 1;
		part <<= 1;
		if (rest >= b) {
			rest -= b;
			part |= 1;
		}
	}
	return part;
}

/* a * 2^32 / b, of a >= 0, b > 0: how many units of slope a / b is, and the
 * time in which slope b rises by a. Rounded up, or down; CR_NEVER if huge. */
static cr_ns residual_divide(cr_ns a, int64_t b, bool up)
{
	uint64_t whole = (uint64_t)(a / b), rest = (uint64_t)(a % b);
	uint64_t part = residual_fraction(rest, (uint64_t)b);

	if (whole >= UINT64_C(1) << 30)
		return CR_NEVER;
	/* equal in the low 64 bits is equal: they differ by less than b */
	if (up && part * (uint64_t)b != rest << 32)
		part++;
	return (cr_ns)(whole << 32) + (cr_ns)part;
}

static int64_t slope_of(cr_ns rise, cr_ns run)
{
	return cr_ns_min(residual_divide(rise, run, true), STEEP);
}

/* Full ns of a number of units of 2^-32, down, from -FAR to FAR. */
static cr_ns whole_ns(__int128 units)
{
	units >>= 32;
	if (units > FAR)
		return FAR;
	return units < -FAR ? -FAR : (cr_ns)units;
}

/* How far @slope rises in @run, up or down to full ns. */
static cr_ns rise_of(int64_t slope, cr_ns run, bool up)
{
	return whole_ns((__int128)slope * run + (up ? CURVE_ONE - 1 : 0));
}

static cr_ns residual_times(cr_ns a, int64_t b)
{
	cr_ns product;

	return __builtin_mul_overflow(a, b, &product) || product > FAR
		       ? FAR
		       : product;
}

/* --- arrival curves --- */

static struct residual_shape residual_shape_of(const struct cr_task *t)
{
	const struct cr_contract *c = &t->contract;
	struct residual_shape s = { t->rel_deadline, t->period, 1, 0, 0 };

	if (c->jobs && c->per > 0)
		s = (struct residual_shape){ t->rel_deadline, c->per, c->jobs,
					     c->burst, c->peak_jobs_per_sec };
	return s;
}

static bool same_shape(const struct residual_shape *a,
		       const struct residual_shape *b)
{
	return a->deadline == b->deadline && a->per == b->per &&
	       a->jobs == b->jobs && a->burst == b->burst && a->peak == b->peak;
}

static cr_ns burst_of(const struct residual_shape *s, cr_ns cost)
{
	return cr_ns_min(residual_times(cost, (int64_t)s->jobs + s->burst),
			 LONG);
}

static int64_t residual_rate_of(const struct residual_shape *s, cr_ns cost)
{
	return slope_of(residual_times(cost, s->jobs), s->per);
}

static struct residual_sum *find(struct residual *r,
				 const struct residual_shape *s)
{
	for (unsigned i = 0; i < r->nsums; i++)
		if (same_shape(&r->sum[i].shape, s))
			return &r->sum[i];
	return NULL;
}

bool residual_add(struct residual *r, const struct cr_task *t)
{
	struct residual_shape s = residual_shape_of(t);
	struct residual_sum *sum = find(r, &s);
	cr_ns cost = cr_task_worst(t);

	if (!sum && r->nsums < RESIDUAL_SHAPES) {
		sum = &r->sum[r->nsums++];
		*sum = (struct residual_sum){ .shape = s };
	}
	if (sum) {
		sum->tasks++;
		sum->cost += cost;
		return false;
	}
	if (!r->rest.tasks++ || s.deadline < r->rest.deadline)
		r->rest.deadline = s.deadline;
	r->rest.cost += burst_of(&s, cost);
	r->rest.slope += residual_rate_of(&s, cost);
	return true;
}

void residual_del(struct residual *r, const struct cr_task *t, bool rest)
{
	struct residual_shape s = residual_shape_of(t);
	cr_ns cost = cr_task_worst(t);
	struct residual_sum *sum;

	if (rest) {
		r->rest.tasks--;
		r->rest.cost -= burst_of(&s, cost);
		r->rest.slope -= residual_rate_of(&s, cost);
		return;
	}
	sum = find(r, &s);
	sum->cost -= cost;
	if (!--sum->tasks)
		*sum = r->sum[--r->nsums];
}

/* --- residual capacity --- */

/* Where R bends: it falls by @down, its slope by @less. */
struct bend {
	cr_ns t, down;
	int64_t less;
};

struct bends {
	struct bend bend[CURVE_PIECES];
	unsigned n;
};

static void residual_put(struct bends *all, struct bend b)
{
	unsigned i = all->n++;

	for (; i > 0 && all->bend[i - 1].t > b.t; i--)
		all->bend[i] = all->bend[i - 1];
	all->bend[i] = b;
}

/* C * min(1 + peak * t, burst + rate * t), from the deadline on. */
static void put_sum(struct bends *all, const struct residual_sum *s)
{
	cr_ns d = s->shape.deadline, burst = burst_of(&s->shape, s->cost);
	int64_t rate = residual_rate_of(&s->shape, s->cost);
	int64_t peak = slope_of(residual_times(s->cost, s->shape.peak), CR_SEC);

	if (!s->shape.peak || peak <= rate) {
		residual_put(all, (struct bend){ d, burst, rate });
		return;
	}
	residual_put(all, (struct bend){ d, s->cost, peak });
	residual_put(all,
		     (struct bend){
			     cr_ns_min(cr_ns_add(d, residual_divide(
							    burst - s->cost,
							    peak - rate, true)),
				       FAR),
			     0, rate - peak });
}

/* R between bends: from (t, y) on. Summed with the fractions of a ns, rounded
 * down where a piece begins. */
static unsigned pieces_of_r(const struct bends *all, cr_ns smax,
			    struct curve_piece *r)
{
	__int128 y = -(__int128)smax * CURVE_ONE;
	unsigned n = 1;

	r[0] = (struct curve_piece){ 0, -smax, CURVE_ONE };
	for (unsigned i = 0; i < all->n; i++) {
		const struct bend *b = &all->bend[i];
		struct curve_piece *p = &r[n - 1];
		int64_t slope = p->slope - b->less;

		y += (__int128)p->slope * (b->t - p->t) -
		     (__int128)b->down * CURVE_ONE;
		n += b->t > p->t;
		r[n - 1] = (struct curve_piece){ b->t, whole_ns(y), slope };
	}
	return n;
}

/* The min over all that follows, from the end: what rises below it remains. */
static void keep_rising(struct curve_piece *r, unsigned n, struct curve *e)
{
	cr_ns least = e->top;
	unsigned kept = n;

	while (n-- > 0) {
		if (least <= 0)
			break;
		if (r[n].slope <= 0 || r[n].y >= least)
			continue;
		least = r[n].y;
		r[--kept] = r[n];
		e->n++;
	}
	for (unsigned i = 0; i < e->n; i++)
		e->piece[i] = r[kept + i];
}

void residual_curve(const struct residual *r, cr_ns smax, struct curve *e)
{
	struct curve_piece piece[CURVE_PIECES];
	struct bends all = { .n = 0 };
	const struct curve_piece *last;
	unsigned n;

	for (unsigned i = 0; i < r->nsums; i++)
		put_sum(&all, &r->sum[i]);
	if (r->rest.tasks)
		residual_put(&all,
			     (struct bend){ r->rest.deadline, r->rest.cost,
					    r->rest.slope });
	n = pieces_of_r(&all, smax, piece);
	last = &piece[n - 1];
	e->n = 0;
	e->top = last->slope > 0 ? CR_NEVER : last->slope < 0 ? 0 : last->y;
	keep_rising(piece, n, e);
}

/* --- lines --- */

/* The last piece that begins below @y, or the first. */
static unsigned piece_below(const struct curve *c, cr_ns y)
{
	unsigned low = 0, high = c->n;

	while (high - low > 1) {
		unsigned middle = (low + high) / 2;

		if (c->piece[middle].y < y)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The line from (t, 0) that is nowhere above @e but where it is below @least;
 * none, if it would not rise. */
static void steepest(const struct curve *e, cr_ns t, cr_ns least,
		     struct curve *line)
{
	cr_ns first = curve_inverse(e, least);
	int64_t slope;

	line->n = 0;
	line->top = 0;
	if (!e->n || e->top != CR_NEVER)
		return;
	slope = e->piece[e->n - 1].slope;
	if (first > t)
		slope = cr_ns_min(slope,
				  residual_divide(least, first - t, false));
	for (unsigned i = 1; i < e->n; i++) {
		const struct curve_piece *p = &e->piece[i];

		if (p->y >= least && p->t > t)
			slope = cr_ns_min(
				slope, residual_divide(p->y, p->t - t, false));
	}
	if (slope <= 0)
		return;
	line->piece[line->n++] = (struct curve_piece){ t, 0, slope };
	line->top = CR_NEVER;
}

void curve_line_from_origin(const struct curve *e, cr_ns least,
			    struct curve *line)
{
	steepest(e, 0, cr_ns_max(least, 1), line);
}

/* Where @e leaves 0. */
static cr_ns begin_of(const struct curve *e)
{
	const struct curve_piece *p = &e->piece[piece_below(e, 1)];

	return p->t + residual_divide(-p->y, p->slope, true);
}

/* Where they meet is no job: nothing is left out. */
void curve_line(const struct curve *e, const struct curve_request *request,
		struct curve *line)
{
	steepest(e, cr_ns_max(request->begin, e->n ? begin_of(e) : 0), 1, line);
	if (line->n && request->slope)
		line->piece[0].slope =
			cr_ns_min(line->piece[0].slope, request->slope);
}

/* Where the line of the last slope below @e meets the axis. */
static cr_ns foot_of_last(const struct curve *e)
{
	int64_t slope = e->piece[e->n - 1].slope;
	cr_ns foot = begin_of(e);

	for (unsigned i = 1; i < e->n; i++) {
		cr_ns back = residual_divide(e->piece[i].y, slope, false);

		foot = cr_ns_max(foot, e->piece[i].t - back);
	}
	return foot;
}

/* Put a line of @slope from (foot, 0) behind the one in @lines, from where it
 * is above that. */
static void residual_append(struct curve *lines, cr_ns foot, int64_t slope)
{
	int64_t r = lines->piece[0].slope;
	cr_ns cross =
		residual_divide(rise_of(slope, foot, true), slope - r, true);

	cross = cr_ns_min(cross, FAR);
	lines->piece[lines->n++] =
		(struct curve_piece){ cross, rise_of(r, cross, false), slope };
}

void curve_two_lines(const struct curve *e, cr_ns least, struct curve *lines)
{
	static const struct curve_request steepest_of_all = { 0, 0 };
	struct curve line;
	int64_t first, last;

	curve_line_from_origin(e, least, lines);
	curve_line(e, &steepest_of_all, &line);
	if (!lines->n || !line.n) {
		*lines = line; /* too small a job for the origin's */
		return;
	}
	first = lines->piece[0].slope;
	last = e->piece[e->n - 1].slope;
	if (last > first)
		residual_append(lines, foot_of_last(e), last);
	/* the corner is where the line could be above both, by more than is
	 * rounded */
	if (line.piece[0].slope > first &&
	    curve_inverse(&line, lines->piece[1].y + 2) < lines->piece[1].t) {
		lines->n = 1;
		residual_append(lines, line.piece[0].t, line.piece[0].slope);
	}
}

/* --- reading a curve --- */

cr_ns curve_inverse(const struct curve *c, cr_ns y)
{
	const struct curve_piece *p;
	cr_ns t;

	if (!c->n || y > c->top)
		return CR_NEVER;
	p = &c->piece[piece_below(c, y)];
	if (y <= p->y)
		return p->t;
	t = cr_ns_add(p->t, residual_divide(y - p->y, p->slope, true));
	/* rounded down, the next begins where this one has not come yet */
	return p + 1 < c->piece + c->n ? cr_ns_min(t, p[1].t) : t;
}

cr_ns curve_at(const struct curve *c, cr_ns t)
{
	cr_ns y = 0;

	for (unsigned i = 0; i < c->n && c->piece[i].t <= t; i++) {
		const struct curve_piece *p = &c->piece[i];
		cr_ns most = i + 1 < c->n ? p[1].y : c->top;
		cr_ns here = p->y + rise_of(p->slope, t - p->t, true);

		y = cr_ns_max(y, cr_ns_min(here, most));
	}
	return y;
}
