/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log as text: whoever takes a line apart, with escapes in mind or without,
 * finds the values that were put, and no other.
 */
#include "cmocka_cr.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "observe/log.h"
#include "patience.h"
#include "scratch.h"
#include "seed.h"

static char path[SCRATCH_MAX];

static int set_up(void **state)
{
	const struct log_config text = { .path = scratch_file(path),
					 .level = LOG_INFO,
					 .format = LOG_TEXT,
					 .per_second = 1 << 20 };
	struct cr_err e;

	return log_open(&text, &e);
}

static int tear_down(void **state)
{
	log_close();
	return 0;
}

/* The one line of the log, from its event on; it is empty then. */
static char *read_text(void)
{
	static char line[8192];
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_true(log_flush(PATIENCE));
	assert_non_null(fgets(line, sizeof(line), f));
	if (fgetc(f) != EOF)
		fail_msg("%s", line);
	(void)fclose(f);
	assert_int_equal(truncate(path, 0), 0);
	return line + strlen("2024-05-01T12:00:00.123Z info  ");
}

static void a_peer_cannot_forge_fields(void **state)
{
	log_event(LOG_INFO, "hello", LOG_WORD("peer", "p q=1"),
		  LOG_STR("client", "x\" session=0 why=\"forged"),
		  LOG_INT("session", 7u));
	assert_string_equal(read_text(),
			    "hello peer=\"p q=1\" "
			    "client=\"x' session=0 why='forged\" session=7\n");
	/* for who knows escapes: it is one itself, and escapes nothing */
	log_event(LOG_INFO, "hello", LOG_STR("client", "x\\"),
		  LOG_WORD("cookie", "\\\""), LOG_INT("n", -1));
	assert_string_equal(read_text(), "hello client=\"x\\\\\" "
					 "cookie=\"\\\\'\" n=-1\n");
	/* a command to terminals, as one octet, too; the direction turned */
	log_event(LOG_INFO, "hello", LOG_STR("client", "\xc2\x9b\x9b\x1b[31m"),
		  LOG_WORD("cookie", "a\xe2\x80\xae=b"),
		  LOG_WORD("name", "g\xc3\xb6t"));
	assert_string_equal(read_text(), "hello client=\"???[31m\" "
					 "cookie=\"a?=b\" "
					 "name=\"g\xc3\xb6t\"\n");
	log_event(LOG_INFO, "hello", LOG_STR("client", ""),
		  LOG_WORD("cookie", ""));
	assert_string_equal(read_text(), "hello client=\"\" cookie=\"\"\n");
}

/* As a program reads it, with escapes or without. Takes key and value off the
 * line; returns what is behind, NULL: it has not that form. */
static char *take_pair(char *at, bool escapes, const char **key)
{
	*key = at;
	at = strchr(at, '=');
	if (!at)
		return NULL;
	*at++ = '\0';
	if (*at != '"')
		return at + strcspn(at, " \n");
	for (at++; *at && *at != '"'; at++)
		if (escapes && *at == '\\' && at[1])
			at++;
	return *at ? at + 1 : NULL;
}

static void expect_keys(const char *line, bool escapes)
{
	static const char *const want[] = { "a", "b", "n", "c", "cut" };
	bool cut = strstr(line, " cut=true\n");
	char copy[8192], *at;
	unsigned i = 0;

	(void)strcpy(copy, line);
	at = copy + strcspn(copy, " ");
	while (*at == ' ') {
		const char *key;

		at = take_pair(at + 1, escapes, &key);
		if (!at)
			fail_msg("%s", line);
		if (cut && !strcmp(key, "cut"))
			i = 4;
		assert_in_range(i, 0, 4);
		assert_string_equal(key, want[i++]);
	}
	assert_string_equal(at, "\n");
	assert_int_equal(i, cut ? 5 : 4);
}

static void any_value_is_one_field(void **state)
{
	enum { LONGEST = 800 };
	static char a[LONGEST + 1], b[LONGEST + 1];
	static const char signs[] = "\"\\ ='\n\x9b";
	uint64_t s = test_seed();

	for (unsigned i = 0; i < 1000; i++) {
		unsigned n = (unsigned)(test_random(&s) % LONGEST);
		char *line;

		for (unsigned k = 0; k < n; k++) {
			a[k] = signs[test_random(&s) % (sizeof(signs) - 1)];
			b[k] = (char)(1 + test_random(&s) % 255);
		}
		a[n] = b[n] = '\0';
		log_event(LOG_INFO, "any", LOG_WORD("a", a), LOG_STR("b", b),
			  LOG_INT("n", n), LOG_STR("c", a));
		line = read_text();
		expect_keys(line, true);
		expect_keys(line, false);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_peer_cannot_forge_fields),
		TEST(any_value_is_one_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
