/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State memory: what was written is read by another process's mapping, and what
 * does not check is not used.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_cr.h"
#include "media/state_memory.h"

static const struct state_sent sent = {
	.ssrc = 7, .ts = 160, .seq = 9, .at = 1000
};
static const struct state_heard heard = { .address = { 2, 0, 0x27, 0x10 },
					  .ssrc = 5 };

static struct state_memory *begin(struct state_slot **slot)
{
	struct state_memory *m = state_memory_new(NULL);

	assert_non_null(m);
	*slot = state_slot_take(m);
	assert_non_null(*slot);
	return m;
}

static void all_is_found_by_who_takes_it_over(void **state)
{
	struct state_slot *slot;
	struct state_memory *m = begin(&slot), *next;
	char text[STATE_TEXT_MAX + 1];
	struct state_sent was = sent;
	struct state_heard from;

	(void)state;
	assert_int_equal(state_put_text(slot, "{}", 2), 0);
	assert_int_equal(state_put_text(slot, "[1]", 3), 0);
	for (was.seq = 1; was.seq < 6; was.seq++)
		state_put_sent(&slot->stream[0], &was);
	state_put_heard(&slot->stream[1], &heard);
	next = state_memory_adopt(dup(state_memory_fd(m)), NULL);
	state_memory_free(m);
	assert_non_null(next);
	slot = state_slot_at(next, 0);
	assert_true(state_get_text(slot, text));
	assert_string_equal(text, "[1]");
	assert_true(state_get_sent(&slot->stream[0], &was));
	assert_int_equal(was.seq, 5);
	assert_false(state_get_sent(&slot->stream[1], &was));
	assert_false(state_get_heard(&slot->stream[0], &from));
	assert_true(state_get_heard(&slot->stream[1], &from));
	assert_memory_equal(&from, &heard, sizeof(from));
	state_memory_free(next);
}

/* Each byte of a slot by itself is another one. What is read is what was
 * written, now or before, or nothing. */
static void a_byte_that_flips_is_not_used(void **state)
{
	struct state_slot *slot;
	struct state_memory *m = begin(&slot);
	struct state_sent before = sent;
	struct state_heard other = heard;
	unsigned char *byte = (void *)slot;
	unsigned missed = 0;

	(void)state;
	before.seq--;
	other.ssrc--;
	assert_int_equal(state_put_text(slot, "former", 6), 0);
	assert_int_equal(state_put_text(slot, "latter", 6), 0);
	state_put_sent(&slot->stream[0], &before);
	state_put_sent(&slot->stream[0], &sent);
	state_put_heard(&slot->stream[0], &other);
	state_put_heard(&slot->stream[0], &heard);
	for (size_t i = 0; i < sizeof(*slot); i++) {
		char text[STATE_TEXT_MAX + 1];
		struct state_sent was;
		struct state_heard from;

		byte[i] ^= 0x41;
		assert_true(state_get_text(slot, text));
		assert_true(state_get_sent(&slot->stream[0], &was));
		assert_true(state_get_heard(&slot->stream[0], &from));
		if (strcmp(text, "latter")) {
			assert_string_equal(text, "former");
			missed++;
		}
		if (memcmp(&was, &sent, sizeof(was))) {
			assert_memory_equal(&was, &before, sizeof(was));
			missed++;
		}
		if (memcmp(&from, &heard, sizeof(from))) {
			assert_memory_equal(&from, &other, sizeof(from));
			missed++;
		}
		assert_false(state_get_sent(&slot->stream[1], &was));
		assert_false(state_get_heard(&slot->stream[1], &from));
		byte[i] ^= 0x41;
	}
	/* generation and check, and what they are of */
	assert_int_equal(missed,
			 16 + 8 + 8 + 16 + sizeof(sent) + 16 + sizeof(heard));
	state_memory_free(m);
}

/* Records go to another machine as a text. */
static void records_are_read_elsewhere(void **state)
{
	struct state_slot *slot, *other;
	struct state_memory *m = begin(&slot);
	char text[STATE_RECORDS_TEXT];
	struct state_sent was;
	struct state_heard from;

	(void)state;
	other = state_slot_take(m);
	state_put_sent(&slot->stream[0], &sent);
	state_put_heard(&slot->stream[1], &heard);
	state_records_write(slot, -400, text);
	assert_true(state_records_read(other, text, 1000));
	assert_true(state_get_sent(&other->stream[0], &was));
	assert_int_equal(was.at, sent.at + 600);
	was.at = sent.at;
	assert_memory_equal(&was, &sent, sizeof(was));
	assert_false(state_get_sent(&other->stream[1], &was));
	assert_false(state_get_heard(&other->stream[0], &from));
	assert_true(state_get_heard(&other->stream[1], &from));
	assert_memory_equal(&from, &heard, sizeof(from));
	for (size_t i = 0; text[i]; i++) {
		text[i] ^= 1; /* digits stay digits, of another value */
		assert_false(state_records_read(other, text, 0));
		text[i] ^= 1;
	}
	text[strlen(text) - 1] = '\0';
	assert_false(state_records_read(other, text, 0));
	state_memory_free(m);
}

static void times_of_another_clock_may_be_any(void **state)
{
	struct state_slot *slot, *other;
	struct state_memory *m = begin(&slot);
	char text[STATE_RECORDS_TEXT];
	const int64_t at[] = { INT64_MAX, INT64_MIN, -1000, 400 };
	const int64_t read[] = { 1, 1, 1, 600 };
	struct state_sent was = sent;

	(void)state;
	other = state_slot_take(m);
	for (unsigned i = 0; i < 4; i++) {
		was.at = at[i];
		state_put_sent(&slot->stream[0], &was);
		state_records_write(slot, 0, text);
		assert_true(state_records_read(other, text, 200));
		assert_true(state_get_sent(&other->stream[0], &was));
		assert_int_equal(was.at, read[i]);
	}
	state_memory_free(m);
}

/* Of a memory of few calls with short texts: where no text is, no page is. */
static void what_is_not_used_has_no_memory(void **state)
{
	enum { SLOTS = 10, PAGE = 4096, USED = 4 * PAGE };
	struct state_slot *slot;
	struct state_memory *m = begin(&slot);
	char text[1000];
	struct stat st;

	(void)state;
	memset(text, ' ', sizeof(text));
	for (unsigned i = 0; i < SLOTS; i++) {
		assert_int_equal(state_put_text(slot, text, sizeof(text)), 0);
		assert_int_equal(state_put_text(slot, text, sizeof(text)), 0);
		state_slot_touch(slot);
		slot = state_slot_take(m);
	}
	assert_int_equal(fstat(state_memory_fd(m), &st), 0);
	assert_in_range(st.st_blocks * 512, 1, (SLOTS + 2) * USED);
	assert_true(sizeof(*slot) > USED);
	state_memory_free(m);
}

static void a_change_shows_in_the_version(void **state)
{
	struct state_slot *slot;
	struct state_memory *m = begin(&slot);
	const struct state_slot *seen = state_slot_seen(m, 0);
	struct state_version before = state_version(seen), now;

	(void)state;
	assert_null(state_slot_seen(m, 1 << 20));
	assert_int_equal(before.text, 0);
	assert_int_equal(state_put_text(slot, "one", 3), 0);
	now = state_version(seen);
	assert_int_not_equal(now.text, 0);
	assert_int_equal(state_put_text(slot, "one", 3), 0);
	assert_int_not_equal(now.text, state_version(seen).text);
	before = state_version(seen);
	state_put_sent(&slot->stream[1], &sent);
	now = state_version(seen);
	assert_int_equal(now.text, before.text);
	assert_int_not_equal(now.records, before.records);
	state_slot_end(slot);
	assert_int_equal(state_version(seen).text, 0);
	state_memory_free(m);
}

static void what_has_ended_has_no_text(void **state)
{
	struct state_slot *slot;
	struct state_memory *m = begin(&slot);
	char text[STATE_TEXT_MAX + 1];
	static char much[STATE_TEXT_MAX + 1];

	(void)state;
	assert_false(state_get_text(slot, text));
	assert_int_equal(state_put_text(slot, "one", 3), 0);
	assert_int_equal(state_put_text(slot, much, sizeof(much)), -EMSGSIZE);
	assert_true(state_get_text(slot, text));
	assert_string_equal(text, "one");
	state_slot_end(slot);
	assert_false(state_get_text(slot, text));
	state_slot_give(m, slot);
	for (unsigned i = 0; i < 200; i++)
		assert_non_null(state_slot_take(m));
	state_memory_free(m);
}

static void other_memory_is_not_taken(void **state)
{
	struct state_slot *slot;
	struct state_memory *m = begin(&slot);
	struct cr_err e;
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	assert_null(state_memory_adopt(fd[0], &e));
	assert_int_equal(close(fd[1]), 0);
	assert_int_equal(pwrite(state_memory_fd(m), "C", 1, 0), 1);
	assert_null(state_memory_adopt(dup(state_memory_fd(m)), &e));
	assert_non_null(strstr(e.text, "another version"));
	state_memory_free(m);
}

/* The payload that came @ago before the newest: its first octet; -1: none. */
static int recent(const struct state_slot *slot, unsigned ago)
{
	size_t bytes;
	const uint8_t *p = state_recent_payload(&slot->stream[0].recent, ago,
						true, &bytes);

	return p ? *p : -1;
}

static void speech_that_came_last_is_there(void **state)
{
	struct state_slot *slot;
	struct state_memory *m = begin(&slot);
	struct state_stream *s = &slot->stream[0];
	uint8_t payload[STATE_PAYLOAD_MAX + 1];
	size_t bytes;

	(void)state;
	assert_int_equal(recent(slot, 0), -1);
	for (uint8_t i = 0; i < 25; i++) {
		payload[0] = i;
		state_begin_frame(s, payload, i % 2 ? 160 : 32, true);
	}
	for (unsigned ago = 0; ago < STATE_RECENT; ago++)
		assert_int_equal(recent(slot, ago), 24 - (int)ago);
	assert_int_equal(recent(slot, STATE_RECENT), -1);
	/* larger ones are fewer */
	for (uint8_t i = 0; i < 5; i++) {
		payload[0] = i;
		state_begin_frame(s, payload, 640, true);
	}
	assert_int_equal(recent(slot, 2), 2);
	assert_int_equal(recent(slot, 3), -1);
	state_begin_frame(s, payload, sizeof(payload), true);
	assert_int_equal(recent(slot, 0), 4);
	assert_int_equal(recent(slot, 1), -1);
	/* something else is in work; what comes behind it begins anew */
	state_begin_frame(s, payload, 4, false);
	assert_int_equal(recent(slot, 0), -1);
	assert_non_null(state_recent_payload(&s->recent, 0, false, &bytes));
	assert_int_equal(bytes, 4);
	state_begin_frame(s, payload, 160, true);
	assert_int_equal(recent(slot, 0), 4);
	assert_int_equal(recent(slot, 1), -1);
	state_memory_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_found_by_who_takes_it_over),
		cmocka_unit_test(a_byte_that_flips_is_not_used),
		cmocka_unit_test(records_are_read_elsewhere),
		cmocka_unit_test(times_of_another_clock_may_be_any),
		cmocka_unit_test(what_is_not_used_has_no_memory),
		cmocka_unit_test(a_change_shows_in_the_version),
		cmocka_unit_test(what_has_ended_has_no_text),
		cmocka_unit_test(other_memory_is_not_taken),
		cmocka_unit_test(speech_that_came_last_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
