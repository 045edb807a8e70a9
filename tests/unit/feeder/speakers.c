/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many calls speak: the lines that say so, and that any first calls of a
 * flow are spread over the packet time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "campaign/plan.h"
#include "campaign_text.h"
#include "cmocka_cr.h"
#include "feeder/speakers.h"

static const char text[] = "duration: 1s\n"
			   "flows:\n"
			   "  - name: steady\n"
			   "    count: 1000\n"
			   "    in: {codec: pcmu}\n"
			   "    out: {codec: pcma}\n"
			   "  - name: overload\n"
			   "    count: 700\n"
			   "    in: {codec: pcmu}\n"
			   "    out: {codec: pcma}\n";

/* The results of the lines. */
struct heard {
	char set[256];
	char why[600];
	int err;
	unsigned ends;
};

static void on_set(void *arg, cr_ns now, const char *line)
{
	struct heard *h = arg;
	size_t n = strlen(h->set);

	assert_true(now > 0);
	(void)snprintf(h->set + n, sizeof(h->set) - n, "%s;", line);
}

static void on_failed(void *arg, int err, const char *why)
{
	struct heard *h = arg;

	h->err = err;
	(void)snprintf(h->why, sizeof(h->why), "%s", why);
}

static void on_end(void *arg)
{
	struct heard *h = arg;

	h->ends++;
}

static void check_limits(const struct speakers *s, unsigned a, unsigned b)
{
	assert_int_equal(atomic_load(speakers_limit(s, 0)), a);
	assert_int_equal(atomic_load(speakers_limit(s, 1)), b);
}

static void a_line_sets_the_flows_that_it_names(void **state)
{
	struct campaign *c = campaign_text(text);
	const struct speakers_cfg cfg = { .campaign = c };
	struct speakers *s = speakers_new(&cfg);
	struct cr_err e = { "" };

	check_limits(s, 0, 0);
	assert_int_equal(speakers_take_line(s, "steady=10 overload=7", &e), 0);
	check_limits(s, 10, 7);
	assert_int_equal(speakers_take_line(s, " overload=0\r", &e), 0);
	check_limits(s, 10, 0);
	assert_int_equal(speakers_take_line(s, "", &e), 0);
	check_limits(s, 10, 0);
	speakers_free(s);
	campaign_free(c);
}

static void a_wrong_line_sets_nothing_and_says_what_is_wrong(void **state)
{
	static const struct {
		const char *line, *why;
	} wrong[] = {
		{ "steady=5 stedy=3", "no flow 'stedy'; did you mean" },
		{ "steady=5 overload", "'overload' is not FLOW=N" },
		{ "steady=5 overload=x", "overload=x: needs a number" },
		{ "steady=5 overload=", "overload=: needs a number" },
		{ "steady=5 overload=-1", "overload=-1: needs a number" },
		{ "steady=5 overload=1000001", "from 0 to 1000000" },
	};
	struct campaign *c = campaign_text(text);
	const struct speakers_cfg cfg = { .campaign = c };
	struct speakers *s = speakers_new(&cfg);

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct cr_err e = { "" };

		assert_int_equal(speakers_take_line(s, wrong[i].line, &e),
				 -EINVAL);
		assert_non_null(strstr(e.text, wrong[i].why));
		check_limits(s, 0, 0);
	}
	speakers_free(s);
	campaign_free(c);
}

/* Feed @lines through a pipe that then ends. */
static void pipe_through(const char *lines, size_t bytes, struct heard *h,
			 unsigned a, unsigned b)
{
	struct event_base *base = event_base_new();
	struct campaign *c = campaign_text(text);
	struct cr_err e = { "" };
	struct speakers_cfg cfg = { .campaign = c,
				    .set = on_set,
				    .end = on_end,
				    .failed = on_failed,
				    .arg = h };
	struct speakers *s;
	int fds[2];

	*h = (struct heard){ .err = 0 };
	assert_int_equal(pipe(fds), 0);
	cfg.fd = fds[0];
	s = speakers_new(&cfg);
	assert_int_equal(speakers_read(s, base, &e), 0);
	assert_int_equal(write(fds[1], lines, bytes), (ssize_t)bytes);
	(void)close(fds[1]);
	(void)event_base_dispatch(base); /* until nothing is waited for */
	check_limits(s, a, b);
	speakers_free(s);
	(void)close(fds[0]);
	event_base_free(base);
	campaign_free(c);
}

static void lines_come_by_a_pipe_and_its_end_changes_nothing(void **state)
{
	static const char lines[] = "steady=3\noverload=4 steady=5\nsteady=6";
	struct heard h;

	pipe_through(lines, strlen(lines), &h, 6, 4);
	assert_int_equal(h.err, 0);
	assert_string_equal(h.set, "steady=3;overload=4 steady=5;steady=6;");
}

static void what_comes_behind_the_end_is_not_read(void **state)
{
	static const char lines[] = "steady=3\nend\nsteady=5\n";
	struct heard h;

	pipe_through(lines, strlen(lines), &h, 3, 0);
	assert_int_equal(h.ends, 1);
	assert_int_equal(h.err, 0);
	assert_string_equal(h.set, "steady=3;");
}

static void the_number_of_a_wrong_line_is_told_and_the_rest_is_not_read(
	void **state)
{
	static const char lines[] = "steady=3\nsteady\nsteady=5\n";
	static const char zero[] = "steady=3\nste\0ady=5\n";
	static char endless[10000];
	struct heard h;

	pipe_through(lines, strlen(lines), &h, 3, 0);
	assert_int_equal(h.err, -EINVAL);
	assert_string_equal(h.why,
			    "--speakers: line 2: 'steady' is not FLOW=N");
	pipe_through(zero, sizeof(zero) - 1, &h, 0, 0);
	assert_string_equal(h.why, "--speakers: line 1: it has a zero octet");
	memset(endless, ' ', sizeof(endless));
	pipe_through(endless, sizeof(endless), &h, 0, 0);
	assert_string_equal(h.why, "--speakers: line 1: it is too long");
}

static void a_file_is_no_pipe(void **state)
{
	struct event_base *base = event_base_new();
	struct campaign *c = campaign_text(text);
	FILE *f = tmpfile();
	struct cr_err e = { "" };
	const struct speakers_cfg cfg = { .campaign = c, .fd = fileno(f) };
	struct speakers *s = speakers_new(&cfg);

	assert_int_equal(speakers_read(s, base, &e), -EINVAL);
	assert_non_null(strstr(e.text, "has to be a pipe"));
	speakers_free(s);
	(void)fclose(f);
	event_base_free(base);
	campaign_free(c);
}

/* Of any first calls of each flow, none of ten parts of the packet time has
 * more than its share and two. */
static void any_first_calls_are_spread_over_the_packet_time(void **state)
{
	struct campaign *c = campaign_text(text);
	const uint64_t counts[] = { 1000, 700 };
	struct plan_options o = { .seed = 7,
				  .duration = CR_SEC,
				  .counts = counts };
	struct cr_err e = { "" };
	struct plan p;

	assert_int_equal(plan_make(&p, c, &o, &e), 0);
	for (unsigned flow = 0; flow < 2; flow++)
		for (unsigned n = 10; n <= counts[flow]; n += 30) {
			unsigned part[10] = { 0 };

			for (size_t i = 0; i < p.count; i++)
				if (p.calls[i].flow == flow &&
				    p.calls[i].index < n)
					part[p.calls[i].start * 10 /
					     c->flows[flow].ptime]++;
			for (unsigned k = 0; k < 10; k++) {
				assert_true(part[k] <= n / 10 + 2);
				assert_true(part[k] + 2 >= n / 10);
			}
		}
	plan_fini(&p);
	campaign_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_sets_the_flows_that_it_names),
		cmocka_unit_test(
			a_wrong_line_sets_nothing_and_says_what_is_wrong),
		cmocka_unit_test(
			lines_come_by_a_pipe_and_its_end_changes_nothing),
		cmocka_unit_test(what_comes_behind_the_end_is_not_read),
		cmocka_unit_test(
			the_number_of_a_wrong_line_is_told_and_the_rest_is_not_read),
		cmocka_unit_test(a_file_is_no_pipe),
		cmocka_unit_test(
			any_first_calls_are_spread_over_the_packet_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
