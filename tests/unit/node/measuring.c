/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who needs a cost waits for it; who hangs while it is measured is left behind
 * at the end, and that is said.
 */
#include <event2/event.h>
#include <event2/thread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmocka_cr.h"
#include "node/measuring.h"
#include "observe/log.h"
#include "patience.h"
#include "scratch.h"

#define PTIME (20 * CR_MS)

static struct cr_codec blocking;
static atomic_bool held;
static atomic_uint inside, returned;

/* PCMA, but it does not come back while it is held. */
static int block(void *enc, unsigned mode, const int16_t *pcm,
		 struct cr_frame *out)
{
	atomic_fetch_add(&inside, 1);
	while (atomic_load(&held))
		(void)usleep(1000);
	atomic_fetch_add(&returned, 1);
	return cr_codec_find("pcma")->encode(enc, mode, pcm, out);
}

struct lab {
	struct event_base *base;
	struct costs *costs;
	struct measuring *m;
	unsigned signalled;
	int err;
};

static void lab_open(struct lab *l)
{
	struct cr_err e;

	memset(l, 0, sizeof(*l));
	(void)evthread_use_pthreads();
	blocking = *cr_codec_find("pcma");
	blocking.name = "blocking";
	blocking.encode = block;
	atomic_store(&inside, 0);
	atomic_store(&returned, 0);
	l->base = event_base_new();
	l->costs = costs_new();
	assert_int_equal(measuring_open(&l->m, l->base, l->costs, &e), 0);
}

static void lab_close(struct lab *l)
{
	measuring_close(l->m);
	costs_free(l->costs);
	event_base_free(l->base);
}

static void signalled(void *arg, int err, const struct cr_err *why)
{
	struct lab *l = arg;

	(void)why;
	l->signalled++;
	l->err = err;
}

static void begin(struct lab *l, struct node_cost_wait *w,
		  const struct cr_codec *in, const struct cr_codec *out)
{
	struct cr_err e;

	*w = (struct node_cost_wait){ .done = signalled, .arg = l, .n = 1 };
	w->need[0].media.in.codec = in;
	w->need[0].media.in.cfg.samples = in->samples;
	w->need[0].media.out.codec = out;
	w->need[0].media.out.cfg.samples = out->samples;
	w->need[0].period = PTIME;
	assert_int_equal(measuring_begin(l->m, w, &e), 0);
}

/* Let events happen until *@counter has reached @n. */
static void wait_reported(struct lab *l, unsigned n)
{
	const struct timeval soon = { 0, 2000 };
	cr_ns end = clock_now() + PATIENCE;

	while (l->signalled < n) {
		assert_true(clock_now() < end);
		(void)event_base_loopexit(l->base, &soon);
		(void)event_base_dispatch(l->base);
	}
}

static void wait_count(atomic_uint *counter)
{
	cr_ns end = clock_now() + PATIENCE;

	while (!atomic_load(counter)) {
		assert_true(clock_now() < end);
		(void)usleep(1000);
	}
}

static void two_share_one_measurement(void **state)
{
	struct node_cost_wait a, b;
	struct lab l;

	lab_open(&l);
	begin(&l, &a, cr_codec_find("pcmu"), cr_codec_find("pcmu"));
	begin(&l, &b, cr_codec_find("pcmu"), cr_codec_find("pcmu"));
	assert_int_equal(l.signalled, 0);
	wait_reported(&l, 2);
	assert_int_equal(l.err, 0);
	assert_int_equal(measuring_count(l.m), 1);
	lab_close(&l);
}

static void who_is_forgotten_is_not_told(void **state)
{
	struct node_cost_wait a, b;
	struct lab l;

	lab_open(&l);
	atomic_store(&held, true);
	begin(&l, &a, &blocking, &blocking);
	begin(&l, &b, &blocking, &blocking);
	wait_count(&inside);
	measuring_forget(l.m, &a);
	atomic_store(&held, false);
	wait_reported(&l, 1);
	lab_close(&l);
	assert_int_equal(l.signalled, 1);
}

static void read_log(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	text[fread(text, 1, size - 1, f)] = '\0';
	(void)fclose(f);
}

static void a_codec_that_hangs_is_left_behind(void **state)
{
	char path[SCRATCH_MAX], text[512];
	const struct log_config config = { .level = LOG_INFO, .path = path };
	struct node_cost_wait first, next;
	struct cr_err e;
	struct lab l;

	(void)scratch_file(path);
	assert_int_equal(log_open(&config, &e), 0);
	lab_open(&l);
	atomic_store(&held, true);
	begin(&l, &first, &blocking, &blocking);
	begin(&l, &next, cr_codec_find("pcmu"), &blocking);
	wait_count(&inside);
	lab_close(&l);
	log_close();
	assert_int_equal(l.signalled, 0);
	assert_int_equal(atomic_load(&returned), 0); /* it hangs still */
	read_log(path, text, sizeof(text));
	if (!strstr(text, "error measuring-stuck codec=blocking\n"))
		fail_msg("%s", text);
	/* and may come back when all is gone */
	atomic_store(&held, false);
	wait_count(&returned);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_share_one_measurement),
		cmocka_unit_test(who_is_forgotten_is_not_told),
		cmocka_unit_test(a_codec_that_hangs_is_left_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
