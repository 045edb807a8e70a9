/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many packets a stream may send.
 */
#include "media/rtp_stream.h"

#include <stdio.h>

#include "cmocka_cr.h"

#define PACKET (20 * CR_MS)

/* A line of what is asked, beginning at @now: how many packets are asked for at
 * once, and how long it is until the next ones, ms. How many are sent is what
 * the string says. */
struct step {
	unsigned packets;
	int wait;
};

static void expect(cr_ns now, const struct step *step, unsigned n,
		   const char *want)
{
	struct quota q = { 0 };
	char sent[256] = "";
	size_t at = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned taken = 0;

		for (unsigned k = 0; k < step[i].packets; k++) {
			bool fits = quota_fits(&q, QUOTA_BURST, now, PACKET);

			assert_int_equal(
				quota_take(&q, QUOTA_BURST, now, PACKET), fits);
			taken += fits;
		}
		at += (size_t)snprintf(sent + at, sizeof(sent) - at, "%s%u",
				       i ? "," : "", taken);
		now += step[i].wait * CR_MS;
	}
	assert_string_equal(sent, want);
}

#define EXPECT(now, want, ...)                                                 \
	do {                                                                   \
		const struct step steps[] = { __VA_ARGS__ };                   \
		expect(now, steps, sizeof(steps) / sizeof(steps[0]), want);    \
	} while (0)

/* Each packet counts for 19.375 ms of the 2 s. */
static void two_seconds_may_be_sent_at_once(void **state)
{
	EXPECT(0, "103,1,1", { 200, 20 }, { 200, 20 }, { 200, 0 });
	EXPECT(1000 * CR_SEC, "1,1,102,1", { 1, 20 }, { 1, 0 }, { 200, 20 },
	       { 200, 0 });
}

static void the_burst_has_an_exact_end(void **state)
{
	struct quota q = { .until = CR_SEC + QUOTA_BURST - PACKET };

	assert_true(quota_take(&q, QUOTA_BURST, CR_SEC, PACKET));
	q.until = CR_SEC + QUOTA_BURST - PACKET + 1;
	assert_false(quota_take(&q, QUOTA_BURST, CR_SEC, PACKET));
	assert_true(q.until == CR_SEC + QUOTA_BURST - PACKET + 1);
	assert_false(quota_take(&q, QUOTA_BURST, CR_SEC, QUOTA_BURST + 1));
}

static void a_clock_that_goes_back_allows_no_more(void **state)
{
	EXPECT(1000 * CR_SEC, "103,0,0,2", { 200, -1000 }, { 200, 1000 },
	       { 200, 40 }, { 200, 0 });
	EXPECT(1000 * CR_SEC, "50,50,3", { 50, -10 }, { 50, 10 }, { 200, 0 });
}

static void an_hour_of_silence_saves_nothing(void **state)
{
	EXPECT(0, "1,103,51,103", { 1, 3600 * 1000 }, { 200, 1000 },
	       { 200, 2000 }, { 200, 0 });
}

/* How many of packets that come each @interval are refused. */
static unsigned refuse(cr_ns interval, unsigned packets)
{
	struct quota q = { 0 };
	unsigned n = 0;

	for (unsigned i = 0; i < packets; i++)
		n += !quota_take(&q, QUOTA_BURST, CR_SEC + i * interval,
				 PACKET);
	return n;
}

/* A day of a sender whose clock is 3 % fast; one that is 4 % fast loses what is
 * beyond 3.2 %. */
static void a_clock_may_be_three_percent_fast(void **state)
{
	const unsigned day = 24 * 3600 * 50;
	const cr_ns counted = PACKET - PACKET / QUOTA_DRIFT;

	assert_int_equal(refuse(PACKET * 100 / 103, day), 0);
	assert_int_equal(refuse(counted, day), 0);
	assert_in_range(refuse(PACKET * 100 / 104, day), day / 138, day / 134);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_seconds_may_be_sent_at_once),
		cmocka_unit_test(the_burst_has_an_exact_end),
		cmocka_unit_test(a_clock_that_goes_back_allows_no_more),
		cmocka_unit_test(an_hour_of_silence_saves_nothing),
		cmocka_unit_test(a_clock_may_be_three_percent_fast),
	};

	return cmocka_run_group_tests_name("quota", tests, NULL, NULL);
}
