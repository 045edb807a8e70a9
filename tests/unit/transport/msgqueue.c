/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts become the message that was sent, or nothing; queues count bytes.
 */
#include <errno.h>
#include <string.h>

#include "cmocka_cr.h"
#include "transport/transport.h"

enum { MAX = 10 };

static int add(struct inbox *in, const char *part, bool end, const char **text,
	       size_t *bytes)
{
	const struct transport_event ev = { .kind = TRANSPORT_DATA,
					    .data = part,
					    .bytes = strlen(part),
					    .end = end };

	return inbox_add(in, &ev, MAX, text, bytes);
}

static void parts_are_put_together(void **state)
{
	struct inbox in = { 0 };
	const char *text = NULL;
	size_t bytes = 0;

	assert_int_equal(add(&in, "abc", false, &text, &bytes), 0);
	assert_int_equal(add(&in, "def", false, &text, &bytes), 0);
	assert_int_equal(add(&in, "ghij", true, &text, &bytes), 1);
	assert_int_equal(bytes, 10);
	assert_memory_equal(text, "abcdefghij", 10);
	assert_int_equal(add(&in, "xy", true, &text, &bytes), 1);
	assert_int_equal(bytes, 2);
	assert_memory_equal(text, "xy", 2);
	inbox_free(&in);
}

static void too_long_a_message_is_dropped_once(void **state)
{
	struct inbox in = { 0 };
	const char *text = NULL;
	size_t bytes = 0;

	assert_int_equal(add(&in, "0123456789a", true, &text, &bytes),
			 -EMSGSIZE);
	assert_int_equal(add(&in, "01234567", false, &text, &bytes), 0);
	assert_int_equal(add(&in, "89a", false, &text, &bytes), 0);
	assert_int_equal(add(&in, "b", false, &text, &bytes), 0);
	assert_int_equal(add(&in, "c", true, &text, &bytes), -EMSGSIZE);
	assert_null(text);
	assert_int_equal(add(&in, "ok", true, &text, &bytes), 1);
	assert_memory_equal(text, "ok", 2);
	inbox_free(&in);
}

static void waiting_bytes_are_counted(void **state)
{
	struct outbox out;

	outbox_init(&out);
	assert_true(outbox_empty(&out));
	assert_int_equal(outbox_keep(&out, "abc", 3), 0);
	assert_int_equal(outbox_keep(&out, "defg", 4), 0);
	assert_int_equal(out.bytes, 7);
	outbox_free(&out);
	assert_int_equal(out.bytes, 0);
	assert_true(outbox_empty(&out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_are_put_together),
		cmocka_unit_test(too_long_a_message_is_dropped_once),
		cmocka_unit_test(waiting_bytes_are_counted),
	};

	return cmocka_run_group_tests_name("msgqueue", tests, NULL, NULL);
}
