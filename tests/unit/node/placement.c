/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is where on machines of many shapes, as text:
 *
 *   receivers' CPUs | workers' CPUs by run queue, "/" between queues
 */
#include <stdio.h>
#include <string.h>

#include "cmocka_cr.h"
#include "node/placement.h"

/* @caches of @cores with @threads each; threads of a core are @cpus apart as
 * Linux numbers them. */
static struct topology machine(unsigned caches, unsigned cores,
			       unsigned threads)
{
	struct topology t = { .caches = caches, .cores = caches * cores };

	for (unsigned i = 0; i < caches * cores * threads; i++)
		t.cpu[t.count++] = (struct topology_cpu){
			.cpu = i,
			.core = i % t.cores,
			.cache = i % t.cores / cores,
		};
	return t;
}

static size_t put(char *buf, size_t used, size_t size, const char *what)
{
	assert_true(used + strlen(what) < size);
	memcpy(buf + used, what, strlen(what) + 1);
	return used + strlen(what);
}

static void as_text(const struct placement *p, char *buf, size_t size)
{
	unsigned worker = 0;
	size_t n = 0;
	char one[600];

	for (unsigned i = 0; i < p->receivers; i++) {
		(void)snprintf(one, sizeof(one), "%s%d", i ? "," : "",
			       p->rx_cpu[i]);
		n = put(buf, n, size, one);
	}
	n = put(buf, n, size, " |");
	for (unsigned q = 0; q < p->nrq; q++) {
		struct cpu_list list = { .count = 0 };

		for (unsigned i = 0; i < p->rq_cpus[q]; i++, worker++)
			if (p->pin.count)
				list.cpu[list.count++] = p->pin.cpu[worker];
		cpu_list_text(&list, one, sizeof(one));
		n = put(buf, n, size, q ? " / " : " ");
		if (!p->pin.count)
			(void)snprintf(one, sizeof(one), "any %u",
				       p->rq_cpus[q]);
		n = put(buf, n, size, one);
	}
	assert_int_equal(worker, p->workers);
}

/* What a user may say. */
struct asked {
	const char *pin, *rx;
	unsigned workers, receivers;
	int run_queues;
};

#define AUTO .run_queues = PLACEMENT_QUEUES_AUTO

static int make(struct placement *p, const struct topology *t,
		const struct asked *a, struct placement_fault *f)
{
	struct placement_request request = { .workers = a->workers,
					     .receivers = a->receivers,
					     .run_queues = a->run_queues };
	struct cpu_list pin, rx;

	request.pin_none = a->pin && !strcmp(a->pin, "none");
	request.rx_none = a->rx && !strcmp(a->rx, "none");
	if (a->pin && !request.pin_none) {
		assert_int_equal(cpu_list_parse(&pin, a->pin, &f->why), 0);
		request.pin = &pin;
	}
	if (a->rx && !request.rx_none) {
		assert_int_equal(cpu_list_parse(&rx, a->rx, &f->why), 0);
		request.rx = &rx;
	}
	return placement_make(p, t, &request, f);
}

static void expect(const struct topology *t, struct asked asked,
		   const char *want)
{
	struct placement_fault f;
	struct placement p;
	char text[2000];

	if (make(&p, t, &asked, &f))
		fail_msg("%s: %s", f.option, f.why.text);
	as_text(&p, text, sizeof(text));
	assert_string_equal(text, want);
}

static void refuse(const struct topology *t, struct asked asked,
		   const char *option)
{
	struct placement_fault f;
	struct placement p;

	assert_int_equal(make(&p, t, &asked, &f), -22); /* -EINVAL */
	assert_string_equal(f.option, option);
	assert_int_not_equal(*f.why.text, '\0');
}

static void small_machines_have_one_receiver_and_one_run_queue(void **state)
{
	struct topology one = machine(1, 1, 1), two = machine(1, 2, 1);
	struct topology eight = machine(1, 8, 1), nine = machine(1, 9, 1);

	expect(&one, (struct asked){ AUTO }, "-1 | 0");
	expect(&two, (struct asked){ AUTO }, "0 | 1");
	expect(&eight, (struct asked){ AUTO }, "0 | 1-7");
	expect(&nine, (struct asked){ AUTO }, "0 | 1-8");
}

static void larger_ones_have_a_receiver_for_eight_workers(void **state)
{
	struct topology ten = machine(1, 10, 1), big = machine(1, 64, 1);
	struct topology most = machine(1, 256, 1);
	struct placement p;
	struct placement_fault f;

	expect(&ten, (struct asked){ AUTO }, "0,1 | 2-9");
	expect(&big, (struct asked){ AUTO }, "0,1,2,3,4,5,6,7 | 8-35 / 36-63");
	assert_int_equal(make(&p, &most, &(struct asked){ AUTO }, &f), 0);
	assert_int_equal(p.receivers, 29);
	assert_int_equal(p.workers, 227);
	assert_int_equal(p.nrq, 8);
}

/* Two sockets of 16 cores in two caches each, two threads a core. */
static void each_cache_has_its_receivers_and_its_run_queue(void **state)
{
	struct topology t = machine(4, 8, 2);

	expect(&t, (struct asked){ AUTO },
	       "0,8,16,24,32,40,48,56 | 1-7,33-39 / 9-15,41-47 / "
	       "17-23,49-55 / 25-31,57-63");
	expect(&t, (struct asked){ .receivers = 2, AUTO },
	       "0,8 | 1-7,32-39 / 9-15,40-47 / 16-23,48-55 / 24-31,56-63");
	expect(&t, (struct asked){ .run_queues = 0, .receivers = 1 },
	       "0 | 1-63");
	expect(&t, (struct asked){ .run_queues = 40, .receivers = 1 },
	       "0 | 1-40 / 41-63");
}

/* A mask that leaves 12, 6, 2 and 1 CPUs of four caches. */
static void caches_of_different_sizes(void **state)
{
	static const unsigned size[] = { 12, 6, 2, 1 };
	struct topology t = { .caches = 4 };

	for (unsigned cache = 0; cache < 4; cache++)
		for (unsigned i = 0; i < size[cache]; i++, t.count++)
			t.cpu[t.count] = (struct topology_cpu){
				.cpu = 20 * cache + i,
				.core = t.count,
				.cache = cache,
			};
	t.cores = t.count;
	/* the last two have three workers together: too few for a queue */
	expect(&t, (struct asked){ AUTO }, "0,1,20 | 2-11 / 21-25,40-41,60");
	expect(&t, (struct asked){ .pin = "0-11,40-41,20-23", AUTO },
	       "24,25,60 | 0-11 / 20-23,40-41");
	/* and here the first */
	expect(&t, (struct asked){ .pin = "0-1,20-25,40-41,60", AUTO },
	       "2,3 | 0-1,20-25,40-41,60");
}

static void what_the_user_says_holds(void **state)
{
	struct topology two = machine(1, 2, 1), t = machine(2, 8, 1);

	expect(&two, (struct asked){ .pin = "0", AUTO }, "1 | 0");
	expect(&two, (struct asked){ .rx = "1", AUTO }, "1 | 0");
	expect(&two, (struct asked){ .rx = "none", AUTO }, "-1 | 1");
	expect(&two, (struct asked){ .pin = "none", AUTO }, "0 | any 1");
	expect(&two, (struct asked){ .pin = "0,1", AUTO }, "0 | 0-1");
	expect(&two, (struct asked){ .pin = "0,1", .workers = 1, AUTO },
	       "1 | 0");
	expect(&two, (struct asked){ .rx = "0,1", AUTO }, "0,1 | 0");
	expect(&two, (struct asked){ .pin = "none", .workers = 20, AUTO },
	       "0 | any 20");
	/* receivers never take more than half, but there may be more */
	expect(&two, (struct asked){ .receivers = 3, AUTO }, "0,0,0 | 1");
	expect(&t, (struct asked){ .receivers = 12, AUTO },
	       "0,8,1,9,2,10,3,11,0,8,1,9 | 4-7,12-15");
	expect(&t, (struct asked){ .receivers = 3, .rx = "5,6", AUTO },
	       "5,6,5 | 0-4,7 / 8-15");
	/* workers in the order given, where queues do not follow caches */
	expect(&t, (struct asked){ .pin = "9,1,10,2", .run_queues = 1 },
	       "0 | 9 / 1 / 10 / 2");
	expect(&t, (struct asked){ .workers = 4, AUTO }, "0 | 1-4");
	expect(&t, (struct asked){ .workers = 15, AUTO }, "0 | 1-7 / 8-15");
	expect(&t, (struct asked){ .workers = 10, AUTO }, "0,8 | 1-7,9-11");
}

static void what_cannot_be_is_refused_by_its_name(void **state)
{
	struct topology two = machine(1, 2, 1);

	refuse(&two, (struct asked){ .workers = 2, AUTO }, "workers");
	refuse(&two, (struct asked){ .pin = "1", .workers = 2, AUTO },
	       "workers");
	refuse(&two, (struct asked){ .run_queues = 2 }, "run-queues");
}

/* Whatever the machine and the wish: every CPU of the pinned workers once, all
 * in some queue, none of the receivers' among them. */
static void no_cpu_is_given_twice(void **state)
{
	static struct placement p;
	unsigned tried = 0;
	struct placement_fault f;

	for (unsigned caches = 1; caches <= 9; caches++)
		for (unsigned cores = 1; cores <= 14; cores++)
			for (unsigned receivers = 0; receivers <= 20;
			     receivers += 4) {
				struct topology t = machine(caches, cores, 2);
				unsigned sum = 0;

				assert_int_equal(
					make(&p, &t,
					     &(struct asked){ .receivers =
								      receivers,
							      AUTO },
					     &f),
					0);
				assert_int_equal(p.pin.count, p.workers);
				for (unsigned i = 0; i < p.workers; i++)
					for (unsigned k = 0; k < i; k++)
						assert_true(p.pin.cpu[i] !=
							    p.pin.cpu[k]);
				for (unsigned i = 0; i < p.receivers; i++)
					assert_false(cpu_list_has(
						&p.pin, (unsigned)p.rx_cpu[i]));
				for (unsigned i = 0; i < p.nrq; i++) {
					assert_true(p.rq_cpus[i] > 0);
					assert_true(p.nrq == 1 ||
						    p.rq_cpus[i] <= 32);
					sum += p.rq_cpus[i];
				}
				assert_int_equal(sum, p.workers);
				tried++;
			}
	assert_int_equal(tried, 9 * 14 * 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			small_machines_have_one_receiver_and_one_run_queue),
		cmocka_unit_test(larger_ones_have_a_receiver_for_eight_workers),
		cmocka_unit_test(
			each_cache_has_its_receivers_and_its_run_queue),
		cmocka_unit_test(caches_of_different_sizes),
		cmocka_unit_test(what_the_user_says_holds),
		cmocka_unit_test(what_cannot_be_is_refused_by_its_name),
		cmocka_unit_test(no_cpu_is_given_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
