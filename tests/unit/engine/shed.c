/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which frames are given up: pauses, then the quietest; none without need, few
 * in a row, and of nobody more than of others.
 */
#include "cmocka_cr.h"
#include "engine/shed.h"
#include "seed.h"

#define S (20 * CR_MS)
#define PAUSES_ALL (S + S * 3 / 10)
#define SPEECH_HALF (S + S * 8 / 10 + CR_US)
#define ALL (2 * S)

enum { QUIET_LEVEL = 20, BREATH = 40, SOFT = 70, VOICE = 80, LOUD = 90 };

struct one {
	struct shed_rule rule;
	struct shed_call call;
	struct cr_task task;
	cr_ns now;
};

static struct one open_one(enum shed_kind kind)
{
	return (struct one){
		.rule = { .kind = kind },
		.task = { .cls = CR_SOFT, .period = S, .rel_deadline = S },
	};
}

static enum shed_verdict ask(struct one *o, struct shed_queue *q,
			     uint8_t importance, cr_ns waited)
{
	enum shed_verdict v;

	o->task.job.importance = importance;
	v = shed_ask(&o->rule, q, &o->call, &o->task, waited, o->now);
	o->now += S;
	o->task.job.seq++;
	return v;
}

/* "kkks": what became of @n frames of @importance. */
static const char *course(struct one *o, uint8_t importance, cr_ns waited,
			  unsigned n, char *text)
{
	static const char letters[] = {
		[SHED_KEEP] = 'k', [SHED_PAUSE] = 'p', [SHED_SPEECH] = 's'
	};

	for (unsigned i = 0; i < n; i++)
		text[i] = letters[ask(o, NULL, importance, waited)];
	text[n] = '\0';
	return text;
}

/* Two minutes of talk: half speech of three levels, half pauses. */
static void talk(struct one *o)
{
	static const uint8_t speech[] = { SOFT, VOICE, LOUD };

	for (unsigned i = 0; i < 6000; i++)
		assert_int_equal(ask(o, NULL,
				     i / 50 % 2 ? QUIET_LEVEL : speech[i % 3],
				     0),
				 SHED_KEEP);
}

static void the_set_point_is_the_calls_own(void **state)
{
	struct shed_rule r = { .kind = SHED_QUIET };
	struct cr_task t = { .period = 20, .rel_deadline = 30 };

	assert_int_equal(shed_set_point(&r, &t), 30);
	t.rel_deadline = 10;
	assert_int_equal(shed_set_point(&r, &t), 20);
	t.cls = CR_BE;
	t.rel_deadline = 90;
	assert_int_equal(shed_set_point(&r, &t), 20);
	r.wait = 70;
	assert_int_equal(shed_set_point(&r, &t), 70);
}

static void without_a_wait_nothing_goes(void **state)
{
	uint64_t seed = test_seed();

	for (unsigned kind = 0; kind < 3; kind++) {
		struct one o = open_one((enum shed_kind)kind);

		for (unsigned i = 0; i < 20000; i++) {
			/* overloads come and go between */
			cr_ns waited = test_below(&seed, 4) ? S - 1 : ALL;
			enum shed_verdict v =
				ask(&o, NULL, (uint8_t)test_below(&seed, 124),
				    waited);

			if (waited < S || kind == SHED_AGE)
				assert_int_equal(v, SHED_KEEP);
		}
	}
}

/* One call waits and another does not: both are of one run queue. */
static void the_usual_wait_counts_for_all_of_a_class(void **state)
{
	struct one late = open_one(SHED_QUIET), early = open_one(SHED_QUIET);
	struct one hard = open_one(SHED_QUIET);
	struct shed_queue q = { 0 };
	const uint8_t nothing = CR_IMPORTANCE_NOTHING;

	hard.task.cls = CR_HARD;
	hard.call.pause = early.call.pause = true;
	for (unsigned i = 0; i < 20; i++)
		(void)ask(&late, &q, nothing, ALL);
	early.now = hard.now = late.now - S + 1;
	assert_int_equal(ask(&hard, &q, nothing, 0), SHED_KEEP);
	assert_int_equal(ask(&early, &q, nothing, 0), SHED_PAUSE);
	/* nobody else has waited as long: it is forgotten */
	assert_int_equal(ask(&early, &q, nothing, 0), SHED_KEEP);
	assert_int_equal(ask(&early, &q, nothing, 0), SHED_KEEP);
}

static void pauses_go_before_speech(void **state)
{
	struct one o = open_one(SHED_QUIET);
	char text[41];

	talk(&o);
	/* half of the way: every second frame of a pause, no speech */
	assert_string_equal(course(&o, QUIET_LEVEL, S + S * 15 / 100, 10, text),
			    "kpkpkpkpkp");
	assert_string_equal(course(&o, SOFT, S + S * 15 / 100, 10, text),
			    "kkkkkkkkkk");
	/* all of it: seven of eight, and still no speech */
	assert_string_equal(course(&o, QUIET_LEVEL, PAUSES_ALL, 16, text),
			    "kpppppppkppppppp");
	assert_string_equal(course(&o, SOFT, PAUSES_ALL, 10, text),
			    "kkkkkkkkkk");
	assert_string_equal(
		course(&o, CR_IMPORTANCE_NOTHING, PAUSES_ALL, 9, text),
		"kpppppppk");
}

/* A third breath, half the way: all else, and half of the breath. */
static void of_pauses_the_quietest_go(void **state)
{
	static const uint8_t pause[] = { QUIET_LEVEL, QUIET_LEVEL, BREATH };
	struct one o = open_one(SHED_QUIET);
	unsigned gone[2] = { 0 };

	talk(&o);
	for (unsigned i = 0; i < 3000; i++)
		(void)ask(&o, NULL, pause[i % 3], 0);
	for (unsigned i = 0; i < 300; i++) {
		uint8_t level = pause[i % 3];

		gone[level == BREATH] +=
			ask(&o, NULL, level, S * 114 / 100) == SHED_PAUSE;
	}
	assert_in_range(gone[0], 130, 145);
	assert_int_equal(gone[1], 0);
	for (unsigned i = 0; i < 300; i++)
		gone[1] += ask(&o, NULL, pause[i % 3], S * 125 / 100) ==
				   SHED_PAUSE &&
			   i % 3 == 2;
	assert_in_range(gone[1], 30, 60);
}

/* Breath between words, and the end of a sound, are single frames. */
static void a_pause_begins_with_a_frame_that_is_heard(void **state)
{
	struct one o = open_one(SHED_QUIET);

	talk(&o);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(
			ask(&o, NULL, i % 2 ? QUIET_LEVEL : VOICE, PAUSES_ALL),
			SHED_KEEP);
}

static void of_speech_the_quietest_goes(void **state)
{
	struct one o = open_one(SHED_QUIET);
	unsigned gone[3] = { 0 };
	static const uint8_t speech[] = { SOFT, VOICE, LOUD };

	talk(&o);
	/* half of the speech: all that is soft, half of the voice */
	for (unsigned i = 0; i < 300; i++)
		gone[i % 3] +=
			ask(&o, NULL, speech[i % 3], SPEECH_HALF) != SHED_KEEP;
	assert_int_equal(gone[0], 100);
	assert_in_range(gone[1], 45, 55);
	assert_int_equal(gone[2], 0);
}

/* Ten times softer is as good: what counts is the call's own. */
static void a_quiet_talker_is_heard_as_much(void **state)
{
	unsigned gone[2] = { 0 };

	for (unsigned k = 0; k < 2; k++) {
		struct one o = open_one(SHED_QUIET);
		uint64_t seed = 7;

		for (unsigned i = 0; i < 4000; i++) {
			unsigned level =
				i / 60 % 2 ? 30 : 65 + test_below(&seed, 30);

			gone[k] +=
				ask(&o, NULL, (uint8_t)(level - k * 24),
				    i < 1000 ? 0 : SPEECH_HALF) == SHED_SPEECH;
		}
	}
	assert_true(gone[0] > 300);
	assert_int_equal(gone[0], gone[1]);
}

static void some_of_what_is_lost_most_is_heard(void **state)
{
	struct one o = open_one(SHED_QUIET);
	char text[41];

	talk(&o);
	assert_string_equal(course(&o, SOFT, 10 * S, 9, text), "ssksskssk");
	o = open_one(SHED_PATTERN);
	assert_string_equal(course(&o, SOFT, 10 * S, 9, text), "ssksskssk");
}

static void a_pattern_is_even(void **state)
{
	struct one o = open_one(SHED_PATTERN);
	char text[41];

	assert_string_equal(course(&o, LOUD, S + S / 4, 12, text),
			    "kkkskkkskkks");
	o = open_one(SHED_PATTERN);
	assert_string_equal(
		course(&o, CR_IMPORTANCE_NOTHING, S + S / 2, 8, text),
		"ksksksks");
}

/* Music, or a codec's frames that nobody has looked into. */
static void what_is_equally_loud_goes_evenly_and_the_unknown_never(void **state)
{
	struct one o = open_one(SHED_QUIET);
	char text[41];

	(void)course(&o, LOUD, 0, 40, text);
	assert_string_equal(course(&o, LOUD, SPEECH_HALF, 10, text),
			    "ksksksksks");
	o = open_one(SHED_QUIET);
	assert_string_equal(course(&o, CR_IMPORTANCE_UNKNOWN, 10 * S, 10, text),
			    "kkkkkkkkkk");
}

/* A listener's own noise does not become speech while he listens. */
static void a_minute_of_listening_is_still_a_pause(void **state)
{
	struct one o = open_one(SHED_QUIET);

	talk(&o);
	for (unsigned i = 0; i < 3000; i++)
		(void)ask(&o, NULL, QUIET_LEVEL, 0);
	(void)ask(&o, NULL, QUIET_LEVEL, PAUSES_ALL);
	assert_int_equal(ask(&o, NULL, QUIET_LEVEL, PAUSES_ALL), SHED_PAUSE);
}

/* The frame asked about last was run, but not to its end. */
static void lose_half_done(struct one *o)
{
	o->task.job.seq--;
	shed_lost(&o->rule, NULL, &o->call, &o->task.job);
	o->task.job.seq++;
}

/* Whatever comes: no more in a row than that, those counted in that were too
 * old, whom nobody asks, or are given up half done. */
static void rows_are_bounded(void **state)
{
	uint64_t seed = test_seed();

	for (unsigned kind = SHED_PATTERN; kind <= SHED_QUIET; kind++) {
		struct one o = open_one((enum shed_kind)kind);
		unsigned row = 0, gone = 0;

		for (unsigned i = 0; i < 50000; i++) {
			uint8_t level = (uint8_t)test_below(
				&seed, 1 + test_below(&seed, 124));
			enum shed_verdict v;

			if (!test_below(&seed, 8)) {
				shed_lost(&o.rule, NULL, &o.call, &o.task.job);
				o.task.job.seq++;
				row++;
				continue;
			}
			v = ask(&o, NULL, level,
				(cr_ns)test_below(&seed, 2 * S));
			if (v == SHED_SPEECH)
				assert_true(row < SHED_ROW_SPEECH);
			if (v == SHED_PAUSE)
				assert_true(row < SHED_ROW_PAUSE);
			if (v == SHED_KEEP && !test_below(&seed, 4)) {
				lose_half_done(&o);
				row++;
				continue;
			}
			row = v == SHED_KEEP ? 0 : row + 1;
			gone += v != SHED_KEEP;
		}
		assert_true(gone > 2000);
	}
}

/* One of ten calls loses much by other ways: frames too old, a full buffer.
 * Then all wait equally long. */
static void who_has_lost_more_loses_less(void **state)
{
	struct shed_queue q = { 0 };
	struct one o[10];
	unsigned gone[10] = { 0 };

	for (unsigned c = 0; c < 10; c++)
		o[c] = open_one(SHED_PATTERN);
	for (unsigned i = 0; i < 200; i++)
		for (unsigned c = 0; c < 10; c++) {
			o[c].task.job.seq += c == 9 ? 3 : 0;
			if (c == 8)
				shed_lost(&o[c].rule, &q, &o[c].call,
					  &o[c].task.job);
			o[c].task.job.seq += c == 8;
			(void)ask(&o[c], &q, VOICE, 0);
		}
	for (unsigned i = 0; i < 200; i++)
		for (unsigned c = 0; c < 10; c++)
			gone[c] +=
				ask(&o[c], &q, VOICE, S + S / 4) != SHED_KEEP;
	for (unsigned c = 1; c < 8; c++)
		assert_int_equal(gone[c], gone[0]);
	assert_true(gone[8] > 0 && gone[9] > 0);
	assert_true(3 * gone[8] < 2 * gone[0]);
	assert_true(3 * gone[9] < 2 * gone[0]);
}

/* A digit among speech that goes in twos; a file's frames. */
static void what_must_not_go_stays_under_every_rule(void **state)
{
	for (unsigned kind = SHED_PATTERN; kind <= SHED_QUIET; kind++) {
		struct one o = open_one((enum shed_kind)kind);
		char text[41];

		talk(&o);
		assert_string_equal(course(&o, SOFT, 10 * S, 1, text), "s");
		o.task.job.must_keep = true;
		assert_string_equal(
			course(&o, CR_IMPORTANCE_NOTHING, 10 * S, 9, text),
			"kkkkkkkkk");
		o.task.job.must_keep = false;
		/* the row goes on: nobody has been heard meanwhile */
		assert_string_equal(course(&o, SOFT, 10 * S, 2, text), "sk");
		o.task.lossless = true;
		assert_string_equal(course(&o, SOFT, 10 * S, 9, text),
				    "kkkkkkkkk");
	}
}

/* The losses of one call in a hundred frames, and of its run queue. */
struct shares {
	struct one o;
	struct shed_queue q;
};

/* Every third is lost: at once, or (@half) after it had begun. */
static struct shares lose_thirds(enum shed_kind kind, uint8_t importance,
				 bool half)
{
	struct shares s = { .o = open_one(kind) };

	for (unsigned i = 0; i < 100; i++) {
		s.o.task.job.importance = importance;
		if (i % 3 || half)
			(void)ask(&s.o, &s.q, importance, 0);
		if (i % 3)
			continue;
		s.o.task.job.seq -= half;
		shed_lost(&s.o.rule, &s.q, &s.o.call, &s.o.task.job);
		s.o.task.job.seq++;
	}
	return s;
}

static void assert_same_loss(const struct shares *a, const struct shares *b)
{
	assert_true(a->o.call.lost > 0);
	assert_int_equal(a->o.call.lost, b->o.call.lost);
	assert_int_equal(a->q.lost, b->q.lost);
	assert_int_equal(a->o.call.next, b->o.call.next);
}

static void what_is_given_up_half_done_is_lost_once(void **state)
{
	for (unsigned kind = SHED_PATTERN; kind <= SHED_QUIET; kind++) {
		struct shares at_once, half;

		at_once = lose_thirds((enum shed_kind)kind, VOICE, false);
		half = lose_thirds((enum shed_kind)kind, VOICE, true);
		assert_same_loss(&at_once, &half);
	}
}

/* To it, a pause that is lost is a loss as any other, however it came. */
static void a_pattern_does_not_listen(void **state)
{
	struct shares pauses, speech;

	pauses = lose_thirds(SHED_PATTERN, CR_IMPORTANCE_NOTHING, false);
	speech = lose_thirds(SHED_PATTERN, LOUD, false);
	assert_same_loss(&pauses, &speech);
	assert_false(pauses.o.call.pause);
	/* as who listens knows better */
	pauses = lose_thirds(SHED_QUIET, CR_IMPORTANCE_NOTHING, false);
	assert_int_equal(pauses.o.call.lost, 0);
	assert_true(pauses.o.call.pause);
}

/* A digit that got too old is no speech, and ends no row. */
static void what_is_no_speech_is_no_loss_of_it(void **state)
{
	struct shares s = { .o = open_one(SHED_PATTERN) };

	s.o.task.job.must_keep = true;
	s.o.call.row = 2;
	for (unsigned i = 0; i < 20; i++) {
		shed_lost(&s.o.rule, &s.q, &s.o.call, &s.o.task.job);
		s.o.task.job.seq++;
	}
	assert_int_equal(s.o.call.lost, 0);
	assert_int_equal(s.q.lost, 0);
	assert_int_equal(s.o.call.row, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_set_point_is_the_calls_own),
		cmocka_unit_test(without_a_wait_nothing_goes),
		cmocka_unit_test(the_usual_wait_counts_for_all_of_a_class),
		cmocka_unit_test(pauses_go_before_speech),
		cmocka_unit_test(of_pauses_the_quietest_go),
		cmocka_unit_test(a_pause_begins_with_a_frame_that_is_heard),
		cmocka_unit_test(of_speech_the_quietest_goes),
		cmocka_unit_test(a_quiet_talker_is_heard_as_much),
		cmocka_unit_test(some_of_what_is_lost_most_is_heard),
		cmocka_unit_test(a_pattern_is_even),
		cmocka_unit_test(
			what_is_equally_loud_goes_evenly_and_the_unknown_never),
		cmocka_unit_test(a_minute_of_listening_is_still_a_pause),
		cmocka_unit_test(rows_are_bounded),
		cmocka_unit_test(who_has_lost_more_loses_less),
		cmocka_unit_test(what_must_not_go_stays_under_every_rule),
		cmocka_unit_test(what_is_given_up_half_done_is_lost_once),
		cmocka_unit_test(a_pattern_does_not_listen),
		cmocka_unit_test(what_is_no_speech_is_no_loss_of_it),
	};

	return cmocka_run_group_tests_name("shed", tests, NULL, NULL);
}
