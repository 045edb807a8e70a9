/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The world's load: calls, each with a socket of its own, send recorded speech
 * at their times and match what comes back. One thread. Used by
 * tests/bench/packet and tests/bench/delay.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"
#include "base/splitmix.h"
#include "bench.h"
#include "calls.h"

_Noreturn static void die(const char *what)
{
	(void)fprintf(stderr, "bench-load: %s\n", what);
	exit(1);
}

/* When a call's packets are due, after those of the first call. */
struct turn {
	cr_ns phase;
	unsigned call;
};

static int by_phase(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	if (x->phase != y->phase)
		return x->phase < y->phase ? -1 : 1;
	return (x->call > y->call) - (x->call < y->call);
}

/* The turns of a packet of each call, in order. */
static struct turn *turns_of(const struct load_options *opt)
{
	uint64_t random = (uint64_t)opt->seed + 1;
	struct turn *t = calloc((size_t)opt->calls, sizeof(*t));

	if (!t)
		die("out of memory");
	for (int64_t i = 0; i < opt->calls; i++) {
		uint64_t r = splitmix64(&random) >> 32;

		t[i].call = (unsigned)i;
		t[i].phase = opt->phases == LOAD_EVEN
				     ? opt->every * i / opt->calls
				     : (cr_ns)r * opt->every >> 32;
	}
	qsort(t, (size_t)opt->calls, sizeof(*t), by_phase);
	return t;
}

/* What the CPU time is read of, at the two ends of the measurement. */
struct reading {
	cr_ns at, own, watched;
};

static struct reading reading(const struct load_options *opt)
{
	clockid_t clock;
	struct reading r = { .at = clock_now(), .own = clock_thread_cpu() };

	if (!opt->watch)
		return r;
	if (clock_getcpuclockid((pid_t)opt->watch, &clock))
		die("--watch: no such process");
	r.watched = clock_read(clock);
	return r;
}

static void sleep_until(cr_ns t)
{
	const struct timespec ts = { t / CR_SEC, t % CR_SEC };

	(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

/* Where sending is. */
struct pace {
	const struct turn *turns;
	cr_ns start;
	uint64_t next; /* turn, from the start */
};

static cr_ns due(const struct pace *p, const struct load_options *opt)
{
	uint64_t calls = (uint64_t)opt->calls;

	return p->start + (cr_ns)(p->next / calls) * opt->every +
	       p->turns[p->next % calls].phase;
}

/* Send and receive until @end. */
static void play(struct calls *c, struct pace *p, cr_ns end)
{
	cr_ns now = clock_now();

	while (now < end) {
		cr_ns d = due(p, c->opt);

		while (d <= now && d < end) {
			calls_send(c,
				   p->turns[p->next % (uint64_t)c->opt->calls]
					   .call,
				   d);
			p->next++;
			d = due(p, c->opt);
		}
		calls_receive(c);
		sleep_until(cr_ns_min(end, cr_ns_max(d, now + c->opt->tick)));
		now = clock_now();
	}
}

/* The last answers. */
static void linger(struct calls *c)
{
	cr_ns end = clock_now() + c->opt->linger;

	do {
		calls_receive(c);
		sleep_until(clock_now() + c->opt->tick);
	} while (c->tally.received < c->tally.sent && clock_now() < end);
	calls_receive(c);
}

static void print_times(const char *name, const struct histogram *h)
{
	struct histogram_summary s;

	histogram_summarise(h, &s);
	printf("\"%s\": {\"p50_ns\": %" PRId64 ", \"p99_ns\": %" PRId64
	       ", \"p999_ns\": %" PRId64 ", \"max_ns\": %" PRId64 "}, ",
	       name, s.p50, s.p99, s.p999, s.max);
}

/* All packets, those before and after the measurement, too. */
static uint64_t sent_ever(const struct calls *c)
{
	uint64_t n = 0;

	for (int64_t i = 0; i < c->opt->calls; i++)
		n += c->call[i].match.sent;
	return n;
}

static void print(const struct calls *c, const struct reading *from,
		  const struct reading *to)
{
	const struct tally *t = &c->tally;

	printf("{\"calls\": %" PRId64 ", \"sent_ever\": %" PRIu64
	       ", \"sent\": %" PRIu64 ", \"received\": %" PRIu64
	       ", \"lost\": %" PRIu64 ", \"refused\": %" PRIu64
	       ", \"duplicate\": %" PRIu64 ", \"reordered\": %" PRIu64
	       ", \"out_of_sequence\": %" PRIu64 ", \"strange\": %" PRIu64
	       ", \"wrong\": %" PRIu64 ", ",
	       c->opt->calls, sent_ever(c), t->sent, t->received,
	       t->sent - t->received, t->refused, t->duplicate, t->reordered,
	       t->out_of_sequence, t->strange, t->wrong);
	print_times("delay", &t->delay);
	print_times("late", &t->late);
	printf("\"ns\": %" PRId64 ", \"cpu_ns\": %" PRId64
	       ", \"watched_cpu_ns\": %" PRId64 "}\n",
	       to->at - from->at, to->own - from->own,
	       to->watched - from->watched);
}

static void measure(struct calls *c)
{
	struct turn *turns = turns_of(c->opt);
	struct pace p = { .turns = turns, .start = clock_now() + CR_MS };
	struct reading from, to;

	c->begin = p.start + c->opt->warm;
	c->end = c->begin + c->opt->seconds;
	play(c, &p, c->begin);
	from = reading(c->opt);
	play(c, &p, c->end);
	to = reading(c->opt);
	linger(c);
	print(c, &from, &to);
	free(turns);
}

int main(int argc, char **argv)
{
	const struct load_options *opt = load_options(argc, argv);
	static struct calls c;
	struct cr_err e = { "" };

	bench_pin("bench-load", opt->cpu);
	(void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	if (calls_open(&c, opt, &e))
		die(e.text);
	calls_tell(&c, "ready", stdout);
	if (calls_targets(&c, stdin, &e))
		die(e.text);
	measure(&c);
	calls_close(&c);
	return 0;
}
