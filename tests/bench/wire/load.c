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
#include "bench.h"
#include "calls.h"
#include "timetable.h"

/* So late, and by a tick, it may be. */
#define PATIENCE (500 * CR_US)

_Noreturn static void die(const char *what)
{
	(void)fprintf(stderr, "bench-load: %s\n", what);
	exit(1);
}

/* What is read at the two ends of the measurement. */
struct reading {
	cr_ns at, held;
	cr_ns own, watched; /* CPU time */
};

static struct reading reading(const struct load_options *opt,
			      const struct timetable *t)
{
	clockid_t clock;
	struct reading r = { .at = clock_now(),
			     .held = t->held,
			     .own = clock_thread_cpu() };

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

/* Send and receive until @end. */
static void play(struct calls *c, struct timetable *t, cr_ns end)
{
	cr_ns now = clock_now();

	while (now < end) {
		cr_ns due;

		while ((due = timetable_due(t)) <= now && due < end) {
			calls_send(c, timetable_call(t), due);
			timetable_sent(t);
		}
		calls_receive(c);
		sleep_until(cr_ns_min(end, cr_ns_max(due, now + c->opt->tick)));
		now = clock_now();
		timetable_hold(t, now);
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
	       ", \"watched_cpu_ns\": %" PRId64 ", \"held_ns\": %" PRId64 "}\n",
	       to->at - from->at, to->own - from->own,
	       to->watched - from->watched, to->held - from->held);
}

static void measure(struct calls *c)
{
	const struct load_options *opt = c->opt;
	struct reading from, to;
	struct timetable t;

	if (timetable_open(&t, (unsigned)opt->calls, opt->every,
			   opt->tick + PATIENCE, clock_now() + CR_MS,
			   opt->phases == LOAD_EVEN, (uint64_t)opt->seed))
		die("out of memory");
	c->begin = t.start + opt->warm;
	c->end = c->begin + opt->seconds;
	play(c, &t, c->begin);
	from = reading(opt, &t);
	play(c, &t, c->end);
	to = reading(opt, &t);
	linger(c);
	print(c, &from, &to);
	timetable_close(&t);
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
	calls_report(&c, "ready", stdout);
	if (calls_targets(&c, stdin, &e))
		die(e.text);
	measure(&c);
	calls_close(&c);
	return 0;
}
