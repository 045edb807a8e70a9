/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jitter buffer, sentence by sentence of its header: order, losses, pauses,
 * restarts, bounds. Its adaptive delay is jitter_delay.c's.
 */
#include "jitter_line.h"

/* --- order and time --- */

static void packets_are_played_at_their_time(void **state)
{
	open_as(JITTER_FIXED, 0, 40);
	assert_int_equal(put(0, 0), JITTER_TAKEN);
	assert_int_equal(put(35, 1), JITTER_TAKEN);
	assert_int_equal(put(41, 2), JITTER_TAKEN);
	assert_int_equal(put(99, 3), JITTER_TAKEN);
	assert_string_equal(until(100), "0@40 1@60 2@80 3@100");
	assert_int_equal(COUNTED(wait_ns), (40 + 25 + 39 + 1) * CR_MS);
	close_it();
}

static void packets_are_sorted_into_their_place(void **state)
{
	open_as(JITTER_FIXED, 0, 60);
	(void)put(0, 0);
	(void)put(62, 3);
	(void)put(63, 1);
	(void)put(81, 4);
	(void)put(82, 2);
	assert_string_equal(until(140), "0@60 1@80 2@100 3@120 4@140");
	close_it();
}

static void what_came_first_may_be_behind_what_comes_next(void **state)
{
	open_as(JITTER_FIXED, 0, 60);
	(void)put(40, 2);
	assert_int_equal(put(50, 0), JITTER_TAKEN);
	assert_int_equal(put(55, 1), JITTER_TAKEN);
	/* the packet numbered 2 is the fastest: it waits for the most */
	assert_string_equal(until(100), "0@60 1@80 2@100");
	close_it();
}

static void duplicates_and_late_packets_are_told(void **state)
{
	open_as(JITTER_FIXED, 0, 40);
	(void)put(0, 0);
	assert_int_equal(put(1, 0), JITTER_DUPLICATE);
	(void)put(20, 1);
	(void)put(60, 3);
	assert_int_equal(put(61, 1), JITTER_DUPLICATE);
	assert_int_equal(put(81, 2), JITTER_LATE);
	assert_int_equal(put(82, 2), JITTER_DUPLICATE);
	assert_string_equal(until(100), "0@40 1@60 c20@80 3@100");
	assert_int_equal(COUNTED(late), 1);
	assert_int_equal(COUNTED(duplicates), 3);
	close_it();
}

static void a_late_caller_gets_the_same(void **state)
{
	struct jitter_output out;

	open_as(JITTER_FIXED, 0, 40);
	w.exact = false;
	put_all(0, 2);
	assert_int_equal(put(60, 3), JITTER_TAKEN);
	assert_int_equal(watch_one(&w, 90 * CR_MS, &out), JITTER_CONCEAL);
	close_it();

	open_as(JITTER_FIXED, 0, 40);
	w.exact = false;
	(void)watch_put(&w, &(struct watch_packet){ .seq = 0 });
	(void)watch_put(&w, &(struct watch_packet){
				    .at = 20 * CR_MS, .seq = 1, .ts = 160 });
	assert_int_equal(jitter_due(w.j), 40 * CR_MS);
	assert_int_equal(watch_one(&w, 70 * CR_MS, &out), JITTER_PLAY);
	assert_int_equal(out.due, 40 * CR_MS);
	assert_int_equal(out.wait, 70 * CR_MS);
	assert_int_equal(watch_one(&w, 70 * CR_MS, &out), JITTER_PLAY);
	assert_int_equal(out.due, 60 * CR_MS);
	assert_int_equal(out.wait, 50 * CR_MS);
	assert_int_equal(watch_one(&w, 70 * CR_MS, &out), JITTER_NOTHING);
	close_it();
}

static void numbers_wrap(void **state)
{
	open_as(JITTER_FIXED, 0, 40);
	for (unsigned i = 0; i < 4; i++)
		(void)put_packet(20 * i,
				 (struct watch_packet){
					 .seq = (uint16_t)(65534 + i),
					 .ts = (uint32_t)-320 + 160 * i });
	assert_string_equal(until(100), "65534@40 65535@60 0@80 1@100");
	close_it();
}

/* --- losses and pauses --- */

static void at_most_60_ms_are_concealed(void **state)
{
	static const struct {
		cr_ns ptime;
		const char *line;
	} rows[] = {
		{ 10, "2@60 c10@70 c10@80 c10@90 c10@100 c10@110 c10@120 "
		      "|@130" },
		{ 20, "2@80 c20@100 c20@120 c20@140 |@160" },
		{ 30, "2@100 c30@130 c30@160 |@190" },
		{ 40, "2@120 c40@160 |@200" },
		{ 60, "2@160 c60@220 |@280" },
		{ 80, "2@200 c60@280 |@340" },
	};

	for (unsigned i = 0; i < 6; i++) {
		open_as(JITTER_FIXED, 0, 40);
		ptime = rows[i].ptime;
		(void)put(0, 0);
		(void)put(ptime, 1);
		(void)put(2 * ptime, 2);
		assert_string_equal(strstr(until(1000), " 2@") + 1,
				    rows[i].line);
		assert_int_equal(jitter_due(w.j), CR_NEVER);
		close_it();
	}
}

/* Else what comes next might be heard behind its place for ever. */
static void nothing_is_concealed_before_a_packets_time_is_known(void **state)
{
	open_as(JITTER_FIXED, 0, 40);
	(void)put(0, 0);
	(void)put(130, 5);
	(void)put(140, 6);
	(void)put(180, 8);
	assert_string_equal(until(200), "0@40 |@100 5@140 6@160 c20@180 8@200");
	close_it();
}

static void play_out_goes_on_behind_a_pause(void **state)
{
	open_as(JITTER_FIXED, 0, 40);
	put_all(0, 2);
	(void)until(400);
	/* its turn was concealed; that one's was not */
	assert_int_equal(put(400, 4), JITTER_LATE);
	assert_int_equal(put(400, 20), JITTER_TAKEN);
	assert_string_equal(until(440),
			    "0@40 1@60 c20@80 c20@100 c20@120 |@140 20@440");
	close_it();
}

/* 300 ms late for good: 60 ms are lost, and no more. */
static void a_network_that_became_slower_is_found_again(void **state)
{
	open_as(JITTER_FIXED, 0, 40);
	put_all(0, 2);
	assert_int_equal(put(340, 2), JITTER_LATE);
	assert_int_equal(put(360, 3), JITTER_LATE);
	assert_int_equal(put(380, 4), JITTER_LATE);
	assert_int_equal(put(400, 5), JITTER_TAKEN);
	assert_int_equal(put(420, 6), JITTER_TAKEN);
	assert_string_equal(until(460),
			    "0@40 1@60 c20@80 c20@100 c20@120 |@140 "
			    "5@440 6@460");
	close_it();
}

static void known_losses_are_concealed_and_pauses_are_not(void **state)
{
	open_as(JITTER_FIXED, 0, 100);
	put_all(0, 2);
	/* one lost; then 60 ms were not sent */
	(void)put(60, 3);
	(void)put_packet(140, (struct watch_packet){ .seq = 4, .ts = 7 * 160 });
	assert_string_equal(until(240),
			    "0@100 1@120 c20@140 3@160 |@180 4@240");
	close_it();
}

static void what_follows_silence_is_not_missed(void **state)
{
	open_as(JITTER_FIXED, 0, 40);
	put_all(0, 2);
	(void)put_packet(40, (struct watch_packet){
				     .seq = 2, .ts = 2 * 160, .silent = true });
	(void)put_packet(200, (struct watch_packet){ .seq = 3,
						     .ts = 10 * 160,
						     .silent = true });
	(void)put_packet(360,
			 (struct watch_packet){ .seq = 5, .ts = 18 * 160 });
	assert_string_equal(until(420), "0@40 1@60 2@80 |@100 3@240 |@260 "
					"5@400 c20@420");
	close_it();
}

static void a_packets_time_is_learned_or_told(void **state)
{
	struct jitter_output out;

	open_as(JITTER_FIXED, 0, 40);
	(void)put_packet(0, (struct watch_packet){ .duration = 240 });
	(void)until(69);
	assert_int_equal(watch_one(&w, 70 * CR_MS, &out), JITTER_CONCEAL);
	assert_int_equal(out.ts, 240);
	assert_int_equal(out.duration, 240);
	close_it();

	open_as(JITTER_FIXED, 0, 40);
	ptime = 30;
	put_all(0, 2);
	(void)until(99);
	assert_int_equal(watch_one(&w, 100 * CR_MS, &out), JITTER_CONCEAL);
	assert_int_equal(out.ts, 480);
	assert_int_equal(out.duration, 240);
	close_it();
}

/* --- too much, too far --- */

static void the_oldest_is_played_when_there_is_no_more_room(void **state)
{
	open_as(JITTER_FIXED, 0, 1000);
	put_all(0, 17);
	assert_string_equal(until(320), "0@240 1@260 2@280 3@300 4@320");
	assert_int_equal(put(330, 0), JITTER_DUPLICATE);
	assert_int_equal(COUNTED(overflow), 0);
	assert_int_equal(jitter_waiting(w.j), 12);
	line[0] = '\0';
	assert_string_equal(until(1120), "5@1100 6@1120");
	close_it();
}

static void the_oldest_goes_when_there_is_no_room(void **state)
{
	open_as(JITTER_FIXED, 0, 1000);
	put_all(0, 10);
	assert_int_equal(put(320, 16), JITTER_OVERFLOW);
	assert_int_equal(COUNTED(overflow), 1);
	assert_int_equal(jitter_waiting(w.j), 10);
	assert_int_equal(put(330, 0), JITTER_DUPLICATE);
	close_it();
}

/* What was held up for a second comes at once: what is older than the most
 * goes, and the rest is not played in a burst. */
static void what_was_held_up_is_not_played_in_a_burst(void **state)
{
	open_as(JITTER_FIXED, 0, 100);
	put_all(0, 3);
	(void)until(1000);
	for (unsigned i = 3; i < 6; i++)
		assert_int_equal(put(1000, i), JITTER_LATE);
	for (unsigned i = 6; i <= 50; i++)
		assert_true(put(1000, i) >= 0);
	line[0] = '\0';
	assert_string_equal(until(1100), "44@1010 45@1020 46@1030 47@1040 "
					 "48@1060 49@1080 50@1100");
	close_it();
}

static void another_source_is_a_restart(void **state)
{
	open_as(JITTER_FIXED, 0, 60);
	put_all(0, 4);
	assert_int_equal(
		put_packet(70, (struct watch_packet){ .seq = 500, .ssrc = 9 }),
		JITTER_RESTART);
	assert_int_equal(COUNTED(discarded), 3);
	assert_int_equal(COUNTED(restarts), 1);
	assert_string_equal(until(130), "0@60 500@130");
	close_it();
}

static void two_packets_far_off_are_a_restart(void **state)
{
	const struct watch_packet far_off[] = {
		{ .seq = 40000, .ts = 4 * 160 }, /* the sequence alone */
		{ .seq = 4, .ts = 99999999 },	 /* the timestamps alone */
		{ .seq = 4, .ts = 1 },		 /* these alone, backwards */
		{ .seq = 2, .ts = 99999999 },	 /* both */
	};

	for (unsigned i = 0; i < 4; i++) {
		struct watch_packet p = far_off[i];

		open_as(JITTER_FIXED, 0, 100);
		put_all(0, 4);
		if (i == 3)
			p.seq += 2;
		assert_int_equal(put_packet(80, p), JITTER_OUT_OF_RANGE);
		p.seq++;
		p.ts += 160;
		assert_int_equal(put_packet(100, p), JITTER_RESTART);
		assert_int_equal(COUNTED(out_of_range), 1);
		assert_int_equal(COUNTED(discarded), 3);
		close_it();
	}
}

/* Its number may yet come. */
static void one_packet_far_off_leaves_no_trace(void **state)
{
	open_as(JITTER_FIXED, 0, 60);
	put_all(0, 4);
	assert_int_equal(
		put_packet(80,
			   (struct watch_packet){ .seq = 5, .ts = 12345678 }),
		JITTER_OUT_OF_RANGE);
	put_all(4, 7);
	assert_string_equal(until(180),
			    "0@60 1@80 2@100 3@120 4@140 5@160 6@180");
	close_it();
}

static void a_payload_that_has_no_place_is_refused(void **state)
{
	static const uint8_t big[WATCH_BYTES + 1];
	const struct rtp_packet p = { .payload = big,
				      .payload_bytes = sizeof(big) };
	const struct jitter_input in = { .rtp = &p };

	open_as(JITTER_FIXED, 0, 60);
	assert_int_equal(jitter_put(w.j, &in), JITTER_TOO_BIG);
	assert_int_equal(COUNTED(too_big), 1);
	close_it();
}

static void reset_forgets_the_source(void **state)
{
	open_as(JITTER_FIXED, 0, 60);
	put_all(0, 3);
	jitter_reset(w.j);
	assert_int_equal(COUNTED(discarded), 3);
	assert_int_equal(jitter_due(w.j), CR_NEVER);
	assert_int_equal(put(60, 30000), JITTER_TAKEN);
	assert_string_equal(until(120), "30000@120");
	close_it();
}

/* --- off, and configuration --- */

static void off_tells_duplicates_and_late_packets(void **state)
{
	const struct jitter_cfg cfg = { .kind = JITTER_OFF };
	struct jitter_output out;

	watch_open(&w, &cfg);
	assert_int_equal(put(0, 10), JITTER_TAKEN);
	assert_int_equal(put(20, 12), JITTER_TAKEN);
	assert_int_equal(put(21, 12), JITTER_DUPLICATE);
	assert_int_equal(put(22, 11), JITTER_LATE);
	assert_int_equal(put(40, 40000), JITTER_OUT_OF_RANGE);
	assert_int_equal(put(60, 40001), JITTER_RESTART);
	assert_int_equal(
		put_packet(61, (struct watch_packet){ .seq = 1, .ssrc = 1 }),
		JITTER_RESTART);
	assert_int_equal(COUNTED(put), 7);
	assert_int_equal(COUNTED(out), 4);
	assert_int_equal(jitter_due(w.j), CR_NEVER);
	assert_int_equal(jitter_next(w.j, CR_SEC, &out), JITTER_NOTHING);
	close_it();
}

static void refused(struct jitter_cfg cfg, const char *says)
{
	struct jitter *j = NULL;
	struct cr_err e = { "" };

	assert_int_equal(jitter_open(&j, &cfg, &e), -22);
	assert_null(j);
	assert_non_null(strstr(e.text, says));
}

static void a_configuration_out_of_bounds_is_refused(void **state)
{
	const struct jitter_cfg good = { .kind = JITTER_ADAPTIVE,
					 .least = 0,
					 .most = 200 * CR_MS,
					 .clock = 8000,
					 .slots = 16,
					 .slot_bytes = 40 };
	struct jitter_cfg c = good;

	c.least = c.most + 1;
	refused(c, "least=200000001: use 0 to most=200000000 ns");
	c = good;
	c.most = JITTER_MOST_MAX + 1;
	refused(c, "most=1000000001: use 10000000 to 1000000000 ns");
	c = good;
	c.clock = 999;
	refused(c, "clock=999: use 1000 to 384000");
	c = good;
	c.slots = 65;
	refused(c, "slots=65: use 2 to 64");
	c = good;
	c.slot_bytes = 0;
	refused(c, "slot_bytes=0");
	c = good;
	c.kind = (enum jitter_kind)7;
	refused(c, "kind=7");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_are_played_at_their_time),
		cmocka_unit_test(packets_are_sorted_into_their_place),
		cmocka_unit_test(what_came_first_may_be_behind_what_comes_next),
		cmocka_unit_test(duplicates_and_late_packets_are_told),
		cmocka_unit_test(a_late_caller_gets_the_same),
		cmocka_unit_test(numbers_wrap),
		cmocka_unit_test(at_most_60_ms_are_concealed),
		cmocka_unit_test(
			nothing_is_concealed_before_a_packets_time_is_known),
		cmocka_unit_test(play_out_goes_on_behind_a_pause),
		cmocka_unit_test(a_network_that_became_slower_is_found_again),
		cmocka_unit_test(known_losses_are_concealed_and_pauses_are_not),
		cmocka_unit_test(what_follows_silence_is_not_missed),
		cmocka_unit_test(a_packets_time_is_learned_or_told),
		cmocka_unit_test(
			the_oldest_is_played_when_there_is_no_more_room),
		cmocka_unit_test(the_oldest_goes_when_there_is_no_room),
		cmocka_unit_test(what_was_held_up_is_not_played_in_a_burst),
		cmocka_unit_test(another_source_is_a_restart),
		cmocka_unit_test(two_packets_far_off_are_a_restart),
		cmocka_unit_test(one_packet_far_off_leaves_no_trace),
		cmocka_unit_test(a_payload_that_has_no_place_is_refused),
		cmocka_unit_test(reset_forgets_the_source),
		cmocka_unit_test(off_tells_duplicates_and_late_packets),
		cmocka_unit_test(a_configuration_out_of_bounds_is_refused),
	};

	return cmocka_run_group_tests_name("jitter", tests, NULL, NULL);
}
