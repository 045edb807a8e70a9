/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log: one line per event, levels, a rate limit per call site.
 */
#define _GNU_SOURCE /* F_SETPIPE_SZ */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_cr.h"
#include "observe/log.h"
#include "patience.h"
#include "scratch.h"

enum { THREADS = 4, LINES = 5000 };

static char path[SCRATCH_MAX];
static cr_ns now;

static cr_ns fake_clock(void)
{
	return now;
}

static int set_up(void **state)
{
	(void)scratch_file(path);
	now = 0;
	return 0;
}

static int tear_down(void **state)
{
	log_close();
	return 0;
}

static void open_log(enum log_level level, unsigned per_second)
{
	const struct log_config config = { .level = level,
					   .path = path,
					   .per_second = per_second,
					   .clock = fake_clock };
	struct cr_err e;

	assert_int_equal(log_open(&config, &e), 0);
}

/* The log file's text, lines without their time stamps. */
static char *read_log(void)
{
	static char text[1 << 16];
	char line[2048];
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_true(log_flush(PATIENCE_S * CR_SEC));
	text[0] = '\0';
	while (fgets(line, sizeof(line), f)) {
		/* 2024-05-01T12:00:00.123Z and a space */
		assert_int_equal(line[10], 'T');
		assert_int_equal(line[23], 'Z');
		assert_true(strlen(text) + strlen(line) < sizeof(text));
		strcat(text, line + 25);
	}
	assert_int_equal(fclose(f), 0);
	return text;
}

static void an_event_is_one_line(void **state)
{
	open_log(LOG_INFO, 0);
	log_event(LOG_WARN, "admit-refused", LOG_INT("task", 12u),
		  LOG_WORD("why", "util"));
	log_plain(LOG_ERROR, "out-of-ports");
	log_event(LOG_DEBUG, "noise", LOG_INT("n", 1));
	log_set_level(LOG_DEBUG);
	log_event(LOG_DEBUG, "noise", LOG_INT("n", 2));
	assert_string_equal(read_log(), "warn  admit-refused task=12 why=util\n"
					"error out-of-ports\n"
					"debug noise n=2\n");
}

static void a_peer_cannot_forge_lines(void **state)
{
	char longer[4000];

	open_log(LOG_INFO, 0);
	log_event(LOG_INFO, "peer", LOG_WORD("name", "x\nerror fire\033[31m"));
	assert_string_equal(read_log(),
			    "info  peer name=\"x?error fire?[31m\"\n");
	memset(longer, 'a', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	log_event(LOG_INFO, "peer", LOG_WORD("name", longer));
	assert_true(strlen(read_log()) < 1200);
	assert_non_null(strstr(read_log(), "aaa\" cut=true\n"));
}

static void flood(unsigned lines)
{
	for (unsigned i = 0; i < lines; i++)
		log_event(LOG_INFO, "flood", LOG_INT("i", i));
}

static void a_flood_is_suppressed_and_counted(void **state)
{
	open_log(LOG_INFO, 2);
	flood(100);
	log_event(LOG_INFO, "other", LOG_INT("site", 1));
	now = CR_SEC;
	flood(1);
	now = 2 * CR_SEC;
	flood(1);
	assert_string_equal(read_log(), "info  flood i=0\n"
					"info  flood i=1\n"
					"info  other site=1\n"
					"info  flood suppressed=98 i=0\n"
					"info  flood i=0\n");
}

static void *log_lines(void *arg)
{
	for (unsigned i = 0; i < LINES; i++)
		log_event(LOG_INFO, "line", LOG_WORD("w", (const char *)arg));
	return NULL;
}

static void lines_of_threads_do_not_mix(void **state)
{
	static char words[THREADS][9] = { "aaaaaaaa", "bbbbbbbb", "cccccccc",
					  "dddddddd" };
	unsigned seen[THREADS] = { 0 };
	pthread_t thread[THREADS];
	char line[256];
	FILE *f;

	open_log(LOG_INFO, THREADS * LINES);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&thread[i], NULL, log_lines, words[i]),
			0);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	assert_true(log_flush(PATIENCE_S * CR_SEC));
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		unsigned i = (unsigned)(line[38] - 'a');

		assert_in_range(i, 0, THREADS - 1);
		assert_memory_equal(line + 38, words[i], 8);
		assert_int_equal(line[46], '\n');
		seen[i]++;
	}
	assert_int_equal(fclose(f), 0);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(seen[i], LINES);
}

/* --- a reader that stalls --- */

enum { SMALL_PIPE = 4096, PLENTY = 100000 };

/* The log goes into a pipe of 4 KiB that nobody reads yet. Its reading end. */
static int open_stalled(unsigned per_second)
{
	int fd;

	(void)unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_SETPIPE_SZ, SMALL_PIPE), SMALL_PIPE);
	open_log(LOG_INFO, per_second);
	return fd;
}

/* The reader's findings so far. */
struct reading {
	FILE *f;
	unsigned lines, next, dropped;
};

/* A line: the next number, or how many are missing before it. */
static void take(struct reading *r, const char *line)
{
	unsigned n;

	if (sscanf(line + 25, "info  many i=%u ", &n) == 1) {
		assert_int_equal(n, r->next);
		r->next++;
		r->lines++;
	} else if (sscanf(line + 25, "warn  log-dropped lines=%u ", &n) == 1) {
		r->dropped += n;
		r->next += n;
	} else {
		fail_msg("%s", line);
	}
}

/* Read on until number @last, or the note that it was dropped, has come. */
static void read_to(struct reading *r, unsigned last)
{
	char line[2048];

	while (r->next <= last) {
		if (fgets(line, sizeof(line), r->f))
			take(r, line);
		else
			clearerr(r->f);
	}
}

static void who_logs_never_waits_for_who_reads(void **state)
{
	enum { MANY = 40000 }; /* 4 MiB: more than there is room for */
	int fd = open_stalled(MANY + 1);
	struct reading r = { .f = fdopen(fd, "r") };
	struct log_stats stats;
	char words[81];

	memset(words, 'w', sizeof(words) - 1);
	words[sizeof(words) - 1] = '\0';
	for (unsigned i = 0; i < MANY; i++)
		log_event(LOG_INFO, "many", LOG_INT("i", i),
			  LOG_STR("text", words));
	assert_false(log_flush(0));
	/* all are there in order, or reported where they are missing */
	read_to(&r, MANY - 1);
	assert_int_equal(r.next, MANY);
	assert_int_equal(r.lines + r.dropped, MANY);
	assert_in_range(r.lines, MANY / 10, MANY - 1);
	assert_true(log_flush(PATIENCE));
	log_stats(&stats);
	assert_int_equal(stats.dropped, r.dropped);
	assert_int_equal(stats.failed, 0);
	assert_in_range(stats.written, r.lines + 1, r.lines + 10);
	/* and it goes on */
	log_event(LOG_INFO, "many", LOG_INT("i", MANY),
		  LOG_WORD("text", "again"));
	read_to(&r, MANY);
	(void)fclose(r.f);
}

static void a_reader_that_stalls_does_not_keep_the_end(void **state)
{
	int fd = open_stalled(PLENTY);

	flood(1000);
	log_close();
	(void)close(fd);
	/* the next log is as good as any */
	(void)unlink(path);
	open_log(LOG_INFO, 0);
	log_plain(LOG_INFO, "next");
	assert_string_equal(read_log(), "info  next\n");
}

static void a_reader_that_goes_away_is_counted(void **state)
{
	int fd = open_stalled(PLENTY);
	struct log_stats stats;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)close(fd);
	flood(10);
	assert_true(log_flush(PATIENCE));
	log_stats(&stats);
	assert_int_equal(stats.failed, 10);
	assert_int_equal(stats.written, 0);
}

/* --- a crash --- */

static pid_t crash_with(int number, int lines)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	(void)signal(number, SIG_DFL); /* not cmocka's */
	open_log(LOG_INFO, PLENTY);
	flood((unsigned)lines);
	if (number == SIGABRT)
		abort();
	(void)raise(number);
	_exit(0);
}

static void what_was_logged_before_a_crash_is_there(void **state)
{
	enum { LINES_BEFORE = 2000 };
	static const int numbers[] = { SIGABRT, SIGBUS };

	for (unsigned i = 0; i < 2; i++) {
		pid_t pid = crash_with(numbers[i], LINES_BEFORE);
		const char *at;
		char want[40];
		int how;

		assert_int_equal(waitpid(pid, &how, 0), pid);
		assert_true(WIFSIGNALED(how));
		assert_int_equal(WTERMSIG(how), numbers[i]);
		at = read_log();
		for (unsigned n = 0; n < LINES_BEFORE; n++) {
			(void)snprintf(want, sizeof(want), "info  flood i=%u\n",
				       n);
			assert_memory_equal(at, want, strlen(want));
			at += strlen(want);
		}
		assert_int_equal(*at, '\0');
		(void)unlink(path);
	}
}

static void a_crash_does_not_wait_for_who_reads(void **state)
{
	int fd = open_stalled(PLENTY), how;
	pid_t pid;

	log_close();
	pid = crash_with(SIGABRT, 1000);
	assert_int_equal(waitpid(pid, &how, 0), pid);
	assert_true(WIFSIGNALED(how));
	(void)close(fd);
}

static void a_log_that_cannot_be_opened_is_an_error(void **state)
{
	const struct log_config config = { .path = "/nowhere/log" };
	struct cr_err e;

	assert_int_equal(log_open(&config, &e), -ENOENT);
	assert_non_null(strstr(e.text, "/nowhere/log"));
}

/* Whose opening would wait for a reader. */
static void a_pipe_that_nobody_reads_is_an_error(void **state)
{
	const struct log_config config = { .path = path };
	struct cr_err e;

	(void)unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	(void)alarm(PATIENCE_S);
	assert_int_equal(log_open(&config, &e), -ENXIO);
	(void)alarm(0);
	assert_non_null(strstr(e.text, path));
	assert_non_null(strstr(e.text, "nobody reads"));
}

static void a_log_that_was_moved_is_opened_again(void **state)
{
	char moved[sizeof(path) + 8], name[sizeof(path)];
	struct log_config config = { .level = LOG_INFO, .path = name };
	struct cr_err e;

	memcpy(name, path, sizeof(name));
	assert_int_equal(log_open(&config, &e), 0);
	memset(name, 0, sizeof(name)); /* whose it was need not keep it */
	log_plain(LOG_INFO, "before");
	(void)snprintf(moved, sizeof(moved), "%s.1", path);
	assert_int_equal(rename(path, moved), 0);
	log_plain(LOG_INFO, "moved");
	assert_int_equal(log_reopen(&e), 0);
	log_plain(LOG_INFO, "after");
	assert_string_equal(read_log(), "info  after\n");
	assert_int_equal(rename(moved, path), 0);
	assert_string_equal(read_log(), "info  before\ninfo  moved\n");
	log_close();
	assert_int_equal(log_reopen(&e), 0); /* stderr stays */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_event_is_one_line, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_peer_cannot_forge_lines,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_flood_is_suppressed_and_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lines_of_threads_do_not_mix,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			who_logs_never_waits_for_who_reads, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_reader_that_stalls_does_not_keep_the_end, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_reader_that_goes_away_is_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_was_logged_before_a_crash_is_there, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_crash_does_not_wait_for_who_reads, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_log_that_cannot_be_opened_is_an_error, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_pipe_that_nobody_reads_is_an_error, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_log_that_was_moved_is_opened_again, set_up,
			tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
