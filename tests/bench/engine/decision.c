/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one scheduling decision costs: ns for stop + enqueue + pick through the
 * core on one run queue, frame claimed, for every registered policy at 10 to
 * 100,000 waiting tasks, and how it grows per decade.
 *
 *     decision [--json] [--scheduler NAME] [--max-tasks N] [--repeats N]
 *              [--scatter]
 *
 * Medians of several repeats of CPU time; a repeat visits every policy and
 * number once, so that drift of the machine reaches all alike. Every job takes
 * a turn of 1 ms and time goes on with it: each decision is about another task.
 * Tasks lie in memory in the order of their first release, so what a policy
 * without a tree shows is its work and not cache misses; --scatter releases
 * them in another order, so it is both.
 *
 * Not a test: it asserts nothing about time.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "endless.h"
#include "schedulers/registry.h"

enum {
	DECADES = 5,   /* 10 .. 100,000 tasks */
	POLICIES = 32, /* registered, at most */
	REPEATS = 31,  /* at most */
	ROUNDS = 200000,
};

struct bench {
	struct core *core;
	struct cr_rq *rq;
	struct endless *x; /* [n] */
	unsigned n;
	struct endless_clock clock;
};

struct choice {
	const char *only; /* scheduler; NULL: all */
	unsigned most, repeats;
	bool json, scatter;
};

/* ns of every repeat. */
struct figures {
	double ns[POLICIES][DECADES][REPEATS];
};

/* A permutation of 0..n-1: the step has no factor in common with 10^k. */
static unsigned order(unsigned i, unsigned n, bool scatter)
{
	return scatter ? (unsigned)(i * UINT64_C(61803) % n) : i;
}

static bool bench_open(struct bench *b, const struct cr_sched_ops *ops,
		       unsigned n, bool scatter)
{
	struct core_config cfg = { .ops = ops, .ncpu = 1 };

	*b = (struct bench){ .n = n };
	b->x = endless_tasks(n, &b->clock);
	if (!b->x || core_open(&b->core, &cfg, 0, NULL)) {
		free(b->x);
		return false;
	}
	b->rq = core_rq(b->core, 0);
	for (unsigned i = 0; i < n; i++) {
		struct core_task *t = &b->x[order(i, n, scatter)].task.core;

		core_add(b->core, t, 0, 0);
		(void)core_release(b->core, t, 0);
	}
	return true;
}

static void bench_close(struct bench *b)
{
	atomic_store(&b->clock.dry, true);
	for (unsigned i = 0; i < b->n; i++)
		core_del(b->core, &b->x[i].task.core, b->clock.now);
	core_close(b->core);
	free(b->x);
}

/* A policy may hold tasks back until its tick. */
static struct core_task *pick(struct bench *b)
{
	struct core_task *t;

	(void)core_tick(b->core, b->rq, b->clock.now);
	while (!(t = core_pick(b->core, b->rq, 0, b->clock.now))) {
		b->clock.now = cr_ns_max(b->clock.now, b->rq->next_tick);
		(void)core_tick(b->core, b->rq, b->clock.now);
	}
	return t;
}

static void decide(struct bench *b, unsigned rounds)
{
	for (unsigned k = 0; k < rounds; k++) {
		struct core_task *t = pick(b);

		b->clock.now += ENDLESS_JOB;
		(void)core_stop(b->core, b->rq, 0, ENDLESS_JOB, CR_STOP_DONE,
				b->clock.now);
		(void)core_again(b->core, t, b->clock.now);
	}
}

/* CPU time, not the wall's: others may have the CPU in between. */
static cr_ns cpu_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * CR_SEC + t.tv_nsec;
}

/* ns per decision, or -1. */
static double measure(const struct cr_sched_ops *ops, unsigned n, bool scatter)
{
	struct bench b;
	cr_ns begin, end;

	if (!bench_open(&b, ops, n, scatter))
		return -1;
	decide(&b, n); /* every task once: memory is there */
	begin = cpu_now();
	decide(&b, ROUNDS);
	end = cpu_now();
	bench_close(&b);
	return (double)(end - begin) / ROUNDS;
}

static bool wanted(const struct choice *c, unsigned policy)
{
	return !c->only || strcmp(c->only, cr_schedulers[policy]->name) == 0;
}

static void run(const struct choice *c, struct figures *f)
{
	for (unsigned r = 0; r < c->repeats; r++)
		for (unsigned d = 0, n = 10; n <= c->most; d++, n *= 10)
			for (unsigned p = 0; cr_schedulers[p]; p++)
				if (wanted(c, p))
					f->ns[p][d][r] =
						measure(cr_schedulers[p], n,
							c->scatter);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static void print_json(const struct choice *c, struct figures *f)
{
	const char *sep = "[";

	for (unsigned p = 0; cr_schedulers[p]; p++)
		for (unsigned d = 0, n = 10; n <= c->most; d++, n *= 10) {
			if (!wanted(c, p))
				continue;
			(void)printf("%s{\"scheduler\": \"%s\", \"tasks\": %u, "
				     "\"ns\": %.1f}",
				     sep, cr_schedulers[p]->name, n,
				     median(f->ns[p][d], c->repeats));
			sep = ",\n ";
		}
	(void)printf("]\n");
}

/* ns at each number of tasks, then the factor from each to the next. */
static void print_row(const char *name, const double *ns, unsigned decades)
{
	(void)printf("%-10s", name);
	for (unsigned d = 0; d < decades; d++)
		(void)printf("%9.1f", ns[d]);
	(void)printf("   ");
	for (unsigned d = 1; d < decades; d++)
		(void)printf("  x%.2f", ns[d] / ns[d - 1]);
	(void)printf("\n");
}

static void print_table(const struct choice *c, struct figures *f)
{
	unsigned decades = 0;

	(void)printf("%-10s", "ns, tasks");
	for (unsigned n = 10; n <= c->most; n *= 10, decades++)
		(void)printf("%9u", n);
	(void)printf("     growth per decade\n");
	for (unsigned p = 0; cr_schedulers[p]; p++) {
		double ns[DECADES];

		if (!wanted(c, p))
			continue;
		for (unsigned d = 0; d < decades; d++)
			ns[d] = median(f->ns[p][d], c->repeats);
		print_row(cr_schedulers[p]->name, ns, decades);
	}
}

static unsigned number(const char *text, unsigned most)
{
	unsigned long n = strtoul(text, NULL, 10);

	return n < 1 ? 1 : n > most ? most : (unsigned)n;
}

/* False: not understood. */
static bool parse(struct choice *c, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0)
			c->json = true;
		else if (strcmp(argv[i], "--scatter") == 0)
			c->scatter = true;
		else if (i + 1 == argc)
			return false;
		else if (strcmp(argv[i], "--scheduler") == 0)
			c->only = argv[++i];
		else if (strcmp(argv[i], "--max-tasks") == 0)
			c->most = number(argv[++i], 100000);
		else if (strcmp(argv[i], "--repeats") == 0)
			c->repeats = number(argv[++i], REPEATS);
		else
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	static struct figures f;
	struct choice c = { .most = 100000, .repeats = 7 };
	unsigned policies = 0, chosen = 0;

	if (!parse(&c, argc, argv)) {
		(void)fprintf(stderr, "usage: decision [--json] [--scheduler "
				      "NAME] [--max-tasks N] [--repeats N] "
				      "[--scatter]\n");
		return 2;
	}
	while (cr_schedulers[policies])
		chosen += wanted(&c, policies++);
	if (!chosen || policies > POLICIES) {
		(void)fprintf(stderr,
			      "decision: %s; see codec-runner "
			      "--schedulers\n",
			      chosen ? "too many schedulers"
				     : "no such scheduler");
		return 1;
	}
	run(&c, &f);
	(c.json ? print_json : print_table)(&c, &f);
	return 0;
}
