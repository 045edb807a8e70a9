/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log as JSON and as entries of the journal: what peers say is a value, and
 * no more, whatever octets it has and however long it is.
 */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "cmocka_cr.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "observe/log.h"
#include "patience.h"
#include "scratch.h"
#include "seed.h"

static char path[SCRATCH_MAX];

static int set_up(void **state)
{
	(void)scratch_file(path);
	return 0;
}

static int tear_down(void **state)
{
	log_close();
	return 0;
}

static void open_log(const struct log_config *how)
{
	struct log_config config = *how;
	struct cr_err e;

	config.level = LOG_DEBUG;
	config.per_second = 1 << 20;
	if (log_open(&config, &e))
		fail_msg("%s", e.text);
}

static void open_json(void)
{
	const struct log_config json = { .path = path, .format = LOG_JSON };

	open_log(&json);
}

/* The one line of the log; it is empty then. */
static char *read_line(void)
{
	static char line[8192];
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_true(log_flush(PATIENCE));
	assert_non_null(fgets(line, sizeof(line), f));
	assert_int_equal(strlen(line), strcspn(line, "\n") + 1);
	if (fgetc(f) != EOF)
		fail_msg("%s", line);
	(void)fclose(f);
	assert_int_equal(truncate(path, 0), 0);
	return line;
}

/* Without its time. */
static json_t *read_json(void)
{
	const char *line = read_line(), *time;
	json_t *o = json_loads(line, JSON_REJECT_DUPLICATES, NULL);

	if (!o)
		fail_msg("%s", line);
	time = json_string_value(json_object_get(o, "time"));
	assert_int_equal(strlen(time), strlen("2024-05-01T12:00:00.123Z"));
	(void)json_object_del(o, "time");
	return o;
}

/* As it stands, keys in order; single quotes for double ones. */
static void expect_json(const char *want)
{
	json_t *o = read_json();
	char *got = json_dumps(o, JSON_COMPACT | JSON_PRESERVE_ORDER);

	for (char *q = strchr(got, '"'); q; q = strchr(q, '"'))
		*q = '\'';
	assert_string_equal(got, want);
	free(got);
	json_decref(o);
}

static void values_keep_their_kinds(void **state)
{
	open_json();
	log_event(LOG_WARN, "admit-refused", LOG_INT("task", 7u),
		  LOG_REAL("need", 0.25, 4), LOG_STR("why", "no room, or so"));
	expect_json("{'level':'warn','event':'admit-refused','task':7,"
		    "'need':0.25,'why':'no room, or so'}");
	log_event(LOG_DEBUG, "wide", LOG_INT("a", INT64_MIN),
		  LOG_INT("b", UINT64_C(18446744073709551)),
		  LOG_INT("c", (unsigned char)5), LOG_INT("d", true),
		  LOG_REAL("e", -1.25, 1), LOG_REAL("f", 2, 0));
	expect_json("{'level':'debug','event':'wide','a':-9223372036854775808,"
		    "'b':18446744073709551,'c':5,'d':1,'e':-1.2,'f':2}");
	/* what only looks like a number, or is none that JSON has */
	log_event(LOG_INFO, "odd", LOG_WORD("a", "1"), LOG_STR("b", "00001"),
		  LOG_REAL("c", HUGE_VAL, 3), LOG_WORD("d", NULL));
	expect_json("{'level':'info','event':'odd','a':'1','b':'00001',"
		    "'c':'inf','d':''}");
}

static void what_is_empty_is_there(void **state)
{
	open_json();
	/* what has one, and no value, is not left out */
	log_event(LOG_INFO, "empty", LOG_WORD("te", ""), LOG_STR("t", ""));
	expect_json("{'level':'info','event':'empty','te':'','t':''}");
	log_plain(LOG_ERROR, "drained");
	expect_json("{'level':'error','event':'drained'}");
}

static void a_peer_cannot_forge_members(void **state)
{
	json_t *o;

	open_json();
	log_event(LOG_INFO, "hello", LOG_WORD("peer", "p q=1"),
		  LOG_STR("client",
			  "x\" session=root \",\"event\":\"y\"}\n{\"a\":\""),
		  LOG_WORD("session", "s"));
	expect_json("{'level':'info','event':'hello','peer':'p q=1','client':"
		    "'x\\' session=root \\',\\'event\\':\\'y\\'}\\n{\\'a\\':"
		    "\\'','session':'s'}");
	log_event(
		LOG_INFO, "octets",
		LOG_STR("a",
			"\x1b[2J\x7f\\ \xff g\xc3\xb6t \xc0\xaf \xed\xa0\x80"));
	o = read_json();
	assert_string_equal(
		json_string_value(json_object_get(o, "a")),
		"\x1b[2J\x7f\\ \xef\xbf\xbd g\xc3\xb6t \xef\xbf\xbd\xef\xbf\xbd"
		" \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	json_decref(o);
	/* terminals and editors act on these, too: so they are escapes */
	log_event(LOG_INFO, "octets", LOG_STR("a", "\xc2\x9b \xe2\x80\xae"));
	assert_non_null(strstr(read_line(), "\"a\":\"\\u009b \\u202e\""));
}

/* Octets of all kinds, of every length: escapes that are cut, too. */
static void any_value_makes_a_whole_object(void **state)
{
	enum { LONGEST = 3000 };
	static char a[LONGEST + 1], b[LONGEST + 1];
	uint64_t s = test_seed();

	open_json();
	for (unsigned i = 0; i < 2000; i++) {
		unsigned n = (unsigned)(test_random(&s) % LONGEST);
		unsigned kinds = 1 + (unsigned)(test_random(&s) % 255);
		json_t *o;

		for (unsigned k = 0; k < n; k++) {
			a[k] = (char)(1 + test_random(&s) % kinds);
			b[k] = (char)(255 - test_random(&s) % kinds);
		}
		a[n] = b[n] = '\0';
		log_event(LOG_INFO, "any", LOG_WORD("a", a), LOG_STR("b", b),
			  LOG_INT("n", n), LOG_STR("c", a));
		o = read_json();
		assert_string_equal(
			json_string_value(json_object_get(o, "event")), "any");
		if (!json_is_true(json_object_get(o, "cut")))
			assert_int_equal(
				json_integer_value(json_object_get(o, "n")), n);
		json_decref(o);
	}
}

static void what_is_suppressed_is_a_number(void **state)
{
	struct log_config json = { .path = path,
				   .format = LOG_JSON,
				   .level = LOG_INFO,
				   .per_second = 1 };
	struct cr_err e;
	bool reported = false;

	assert_int_equal(log_open(&json, &e), 0);
	while (!reported) { /* until the next second */
		json_t *o;

		for (unsigned i = 0; i < 2; i++)
			log_event(LOG_INFO, "flood", LOG_INT("i", 1u));
		assert_true(log_flush(PATIENCE));
		if (!(o = json_load_file(path, JSON_DISABLE_EOF_CHECK, NULL)))
			continue;
		reported = json_is_integer(json_object_get(o, "suppressed"));
		json_decref(o);
		assert_int_equal(truncate(path, 0), 0);
	}
}

/* --- the journal --- */

static int journal_at(const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	(void)unlink(name);
	(void)strcpy(at.sun_path, name);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static void open_journal(void)
{
	const struct log_config journal = { .format = LOG_JOURNAL,
					    .journal = path };

	open_log(&journal);
}

/* The next datagram, behind what each begins with. */
static const char *next_entry(int fd, char priority)
{
	static char text[8192];
	char head[400];
	ssize_t n;
	int len;

	assert_true(log_flush(PATIENCE));
	n = read(fd, text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	len = snprintf(head, sizeof(head),
		       "PRIORITY=%c\nSYSLOG_IDENTIFIER=%s\n", priority,
		       program_invocation_short_name);
	assert_memory_equal(text, head, (size_t)len);
	return text + len;
}

static void the_journal_has_a_field_for_each_value(void **state)
{
	int fd = journal_at(path);
	struct log_stats stats;

	open_journal();
	log_event(LOG_WARN, "admit-refused", LOG_INT("call", 7u),
		  LOG_WORD("needs-restart", "x"), LOG_STR("why", "no room"));
	assert_string_equal(
		next_entry(fd, '4'),
		"CR_EVENT=admit-refused\nCR_CALL=7\nCR_NEEDS_RESTART=x\n"
		"CR_WHY=no room\n"
		"MESSAGE=admit-refused call=7 needs-restart=x why=\"no room\"\n"
		"\n");
	log_plain(LOG_ERROR, "drained");
	assert_string_equal(next_entry(fd, '3'),
			    "CR_EVENT=drained\nMESSAGE=drained\n\n");
	log_event(LOG_INFO, "peer",
		  LOG_WORD("name", "x\nPRIORITY=0\n\n\xff\x1b[31m"));
	assert_string_equal(
		next_entry(fd, '6'),
		"CR_EVENT=peer\nCR_NAME=x?PRIORITY=0??\xef\xbf\xbd?[31m\n"
		"MESSAGE=peer name=\"x?PRIORITY=0????[31m\"\n\n");
	log_event(LOG_INFO, "peer",
		  LOG_STR("name", "\xc2\x9bJ\xe2\x80\xae\"\\"));
	assert_string_equal(next_entry(fd, '6'),
			    "CR_EVENT=peer\nCR_NAME=?J?\"\\\n"
			    "MESSAGE=peer name=\"?J?'\\\\\"\n\n");
	log_stats(&stats);
	assert_int_equal(stats.written, 4);
	assert_int_equal(stats.failed, 0);
	(void)close(fd);
}

static void an_entry_has_its_message_however_long_the_rest_is(void **state)
{
	int fd = journal_at(path);
	char a[1100];

	memset(a, '\xff', sizeof(a) - 1);
	a[sizeof(a) - 1] = '\0';
	open_journal();
	log_event(LOG_INFO, "long", LOG_WORD("a", a), LOG_WORD("b", a),
		  LOG_WORD("c", a), LOG_WORD("d", a));
	log_event(LOG_DEBUG, "next", LOG_INT("n", 1));
	assert_non_null(strstr(next_entry(fd, '6'), "\nMESSAGE=long a="));
	assert_string_equal(next_entry(fd, '7'),
			    "CR_EVENT=next\nCR_N=1\nMESSAGE=next n=1\n\n");
	(void)close(fd);
}

/* As when its socket unit is restarted. */
static void a_journal_that_was_made_anew_is_found(void **state)
{
	int fd = journal_at(path);
	struct log_stats stats;

	open_journal();
	log_plain(LOG_INFO, "first");
	(void)next_entry(fd, '6');
	(void)close(fd);
	log_plain(LOG_INFO, "nobody-there");
	assert_true(log_flush(PATIENCE));
	fd = journal_at(path);
	log_plain(LOG_INFO, "second");
	assert_string_equal(next_entry(fd, '6'),
			    "CR_EVENT=second\nMESSAGE=second\n\n");
	log_stats(&stats);
	assert_int_equal(stats.written, 2);
	assert_int_equal(stats.failed, 1);
	(void)close(fd);
}

static void without_a_journal_is_an_error(void **state)
{
	const struct log_config journal = { .format = LOG_JOURNAL,
					    .journal = "/nowhere/journal" };
	struct cr_err e;

	assert_int_equal(log_open(&journal, &e), -ENOENT);
	assert_non_null(strstr(e.text, "/nowhere/journal"));
}

/* stderr is what @stream says: the log goes to the journal, or not. */
static void expect_destination(const char *stream, const struct log_config *how,
			       bool journal)
{
	int fd = journal_at(how->journal);
	char octet;

	assert_int_equal(setenv("JOURNAL_STREAM", stream, 1), 0);
	open_log(how);
	log_plain(LOG_INFO, "here");
	if (journal)
		(void)next_entry(fd, '6');
	assert_true(log_flush(PATIENCE));
	assert_int_equal(read(fd, &octet, 1), -1);
	assert_int_equal(errno, EAGAIN);
	log_close();
	assert_int_equal(unsetenv("JOURNAL_STREAM"), 0);
	(void)close(fd);
}

static void where_stderr_is_the_journal_its_fields_are_used(void **state)
{
	char socket[SCRATCH_MAX], stream[64];
	struct log_config how = { .journal = scratch_file(socket) };
	struct stat is;

	assert_int_equal(fstat(STDERR_FILENO, &is), 0);
	(void)snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)is.st_dev,
		       (uintmax_t)is.st_ino);
	expect_destination(stream, &how, true);
	how.path = path;
	expect_destination(stream, &how, false);
	how.path = NULL;
	how.format = LOG_JSON;
	expect_destination(stream, &how, false);
	how.format = LOG_AUTO;
	(void)strcat(stream, "1");
	expect_destination(stream, &how, false);
	expect_destination("nonsense", &how, false);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(values_keep_their_kinds),
		TEST(what_is_empty_is_there),
		TEST(a_peer_cannot_forge_members),
		TEST(any_value_makes_a_whole_object),
		TEST(what_is_suppressed_is_a_number),
		TEST(the_journal_has_a_field_for_each_value),
		TEST(an_entry_has_its_message_however_long_the_rest_is),
		TEST(a_journal_that_was_made_anew_is_found),
		TEST(without_a_journal_is_an_error),
		TEST(where_stderr_is_the_journal_its_fields_are_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
