/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of lines: all of them, whole and in order, whatever the file does.
 */
#define _GNU_SOURCE /* F_SETPIPE_SZ */
#include "cmocka_cr.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "observe/line_file.h"
#include "patience.h"
#include "scratch.h"

static struct lines *open_at(const char *path, size_t bytes)
{
	struct lines *l;
	struct cr_err e = { "" };

	if (lines_open(&l, path, bytes, &e))
		fail_msg("%s", e.text);
	return l;
}

/* The file's text, to be freed. */
static char *text_of(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t n = 0;

	assert_non_null(f);
	if (getdelim(&text, &n, '\0', f) < 0 && text)
		*text = '\0';
	(void)fclose(f);
	return text;
}

static void expect_text(const char *path, const char *want)
{
	char *text = text_of(path);

	assert_string_equal(text, want);
	free(text);
}

static void lines_are_whole_and_in_order(void **state)
{
	enum { LINES = 20000 };
	char path[SCRATCH_MAX], line[32];
	struct lines *l = open_at(scratch_file(path), LINES_BUFFER);
	FILE *f;

	for (unsigned i = 0; i < LINES; i++) {
		(void)snprintf(line, sizeof(line), "line %u", i);
		assert_true(lines_put(l, line));
	}
	lines_close(l, PATIENCE);
	f = fopen(path, "re");
	assert_non_null(f);
	for (unsigned i = 0; i < LINES; i++) {
		char got[32], want[32];

		(void)snprintf(want, sizeof(want), "line %u\n", i);
		assert_non_null(fgets(got, sizeof(got), f));
		assert_string_equal(got, want);
	}
	assert_int_equal(fgetc(f), EOF);
	(void)fclose(f);
}

static void a_file_is_appended_to_and_private_when_it_is_new(void **state)
{
	char folder[SCRATCH_MAX], path[SCRATCH_MAX + 8];
	struct lines *l;
	struct stat st;
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/new", scratch_folder(folder));
	l = open_at(path, 100);
	assert_true(lines_put(l, "one"));
	lines_close(l, PATIENCE);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07, 0);
	/* a crash has left half a line */
	f = fopen(path, "ae");
	assert_non_null(f);
	assert_true(fputs("tw", f) >= 0);
	assert_int_equal(fclose(f), 0);
	l = open_at(path, 100);
	assert_true(lines_put(l, "three"));
	lines_close(l, PATIENCE);
	expect_text(path, "one\ntw\nthree\n");
}

static void reopening_follows_the_name(void **state)
{
	char folder[SCRATCH_MAX], path[SCRATCH_MAX + 8], old[SCRATCH_MAX + 8];
	struct lines_stats stats = { 0 };
	struct lines *l;

	(void)snprintf(path, sizeof(path), "%s/a", scratch_folder(folder));
	(void)snprintf(old, sizeof(old), "%s/b", folder);
	l = open_at(path, 1000);
	assert_true(lines_put(l, "before"));
	assert_int_equal(rename(path, old), 0);
	assert_true(lines_put(l, "moved"));
	lines_reopen(l);
	assert_true(lines_put(l, "after"));
	while (stats.written < 3) {
		lines_stats(l, &stats);
		(void)sched_yield();
	}
	assert_int_equal(stats.reopened, 1);
	expect_text(old, "before\nmoved\n");
	expect_text(path, "after\n");
	/* where there is no folder any more, the file stays */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(unlink(old), 0);
	assert_int_equal(rmdir(folder), 0);
	lines_reopen(l);
	assert_true(lines_put(l, "unseen"));
	while (stats.written < 4) {
		lines_stats(l, &stats);
		(void)sched_yield();
	}
	assert_int_equal(stats.reopened, 1);
	/* until there is one */
	assert_int_equal(mkdir(folder, 0700), 0);
	while (stats.reopened < 2) {
		lines_stats(l, &stats);
		(void)sched_yield();
	}
	assert_true(lines_put(l, "seen"));
	lines_close(l, PATIENCE);
	expect_text(path, "seen\n");
}

/* A pipe that nobody reads is a disk that stands still. */
static void a_slow_disk_costs_lines_and_no_time(void **state)
{
	enum { LINES = 3000 };
	char folder[SCRATCH_MAX], path[SCRATCH_MAX + 8], line[101];
	struct lines_stats stats;
	struct lines *l;
	unsigned put = 0, got = 0;
	FILE *f;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/p", scratch_folder(folder));
	assert_int_equal(mkfifo(path, 0600), 0);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(fd >= 0);
	memset(line, 'x', 100);
	line[100] = '\0';
	l = open_at(path, 10000);
	for (unsigned i = 0; i < LINES; i++)
		put += lines_put(l, line);
	lines_stats(l, &stats);
	assert_true(put < LINES);
	assert_int_equal(stats.dropped, LINES - put);
	/* what was taken comes, when somebody reads */
	assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
	f = fdopen(fd, "r");
	assert_non_null(f);
	for (char text[128]; got < put; got++) {
		assert_non_null(fgets(text, sizeof(text), f));
		assert_int_equal(strlen(text), 101);
	}
	lines_close(l, PATIENCE);
	(void)fclose(f);
}

/* A file that has taken two lines of four; the limit of a file's size stands
 * for a disk that is full. */
static struct lines *open_full(const char *path, struct rlimit *before)
{
	struct lines *l = open_at(path, 100);
	struct lines_stats stats = { 0 };
	struct rlimit small;

	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, before), 0);
	small = *before;
	small.rlim_cur = 25;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (unsigned i = 0; i < 4; i++)
		assert_true(lines_put(l, "123456789"));
	while (stats.written < 2) {
		lines_stats(l, &stats);
		(void)sched_yield();
	}
	assert_int_equal(stats.failed, 0);
	return l;
}

/* Missing lines were counted, and are those at the end. */
static void a_full_disk_is_tried_again(void **state)
{
	enum { MORE = 100 };
	char path[SCRATCH_MAX], *text;
	struct lines_stats stats = { 0 };
	struct rlimit before;
	struct lines *l = open_full(scratch_file(path), &before);

	for (unsigned i = 0; i < MORE; i++)
		(void)lines_put(l, "abcdefghi");
	expect_text(path, "123456789\n123456789\n");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	while (stats.written + stats.dropped < 4 + MORE) {
		lines_stats(l, &stats);
		(void)sched_yield();
	}
	assert_int_equal(stats.failed, 0);
	assert_in_range(stats.dropped, 1, MORE);
	assert_true(lines_put(l, "room"));
	lines_close(l, PATIENCE);
	text = text_of(path);
	assert_int_equal(strlen(text), stats.written * 10 + 5);
	assert_int_equal(strncmp(text,
				 "123456789\n123456789\n123456789\n"
				 "123456789\n",
				 40),
			 0);
	assert_string_equal(text + stats.written * 10, "room\n");
	free(text);
}

/* Whoever moves the file away makes room, maybe: what waits is in the new one.
 */
static void what_waits_for_a_full_disk_goes_to_a_new_file(void **state)
{
	char path[SCRATCH_MAX], old[SCRATCH_MAX + 8];
	struct lines_stats stats = { 0 };
	struct rlimit before;
	struct lines *l = open_full(scratch_file(path), &before);

	(void)snprintf(old, sizeof(old), "%s.1", path);
	assert_int_equal(rename(path, old), 0);
	lines_reopen(l);
	while (stats.written < 4) {
		lines_stats(l, &stats);
		(void)sched_yield();
	}
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	lines_close(l, PATIENCE);
	expect_text(old, "123456789\n123456789\n");
	expect_text(path, "123456789\n123456789\n");
}

/* Once for each time that somebody asks. */
static void a_file_on_a_full_disk_is_opened_again(void **state)
{
	char path[SCRATCH_MAX];
	struct lines_stats stats = { 0 };
	struct rlimit before;
	struct lines *l = open_full(scratch_file(path), &before);

	lines_reopen(l);
	while (!stats.reopened) {
		lines_stats(l, &stats);
		(void)sched_yield();
	}
	assert_int_equal(stats.written, 2);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	while (stats.written + stats.failed < 4) {
		lines_stats(l, &stats);
		(void)sched_yield();
	}
	assert_int_equal(stats.failed, 0);
	assert_int_equal(stats.reopened, 1);
	lines_close(l, PATIENCE);
}

/* What waits for room is not lost for it, and goes there when it is. */
static void a_full_disk_without_room_for_a_new_file_costs_no_line(void **state)
{
	char folder[SCRATCH_MAX], away[SCRATCH_MAX + 8];
	char path[SCRATCH_MAX + 16];
	struct lines_stats stats = { 0 };
	struct rlimit before;
	struct lines *l;

	(void)snprintf(path, sizeof(path), "%s/a", scratch_folder(folder));
	(void)snprintf(away, sizeof(away), "%s.away", folder);
	l = open_full(path, &before);
	assert_int_equal(rename(folder, away), 0);
	lines_reopen(l);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	while (stats.written + stats.failed < 4) {
		lines_stats(l, &stats);
		(void)sched_yield();
	}
	assert_int_equal(stats.failed, 0);
	assert_int_equal(stats.reopened, 0);
	assert_int_equal(mkdir(folder, 0700), 0);
	while (!stats.reopened) {
		lines_stats(l, &stats);
		(void)sched_yield();
	}
	assert_true(lines_put(l, "seen"));
	lines_close(l, PATIENCE);
	expect_text(path, "seen\n");
	(void)snprintf(path, sizeof(path), "%s/a", away);
	expect_text(path, "123456789\n123456789\n123456789\n123456789\n");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(away), 0);
}

static void a_disk_that_stays_full_holds_no_end_up(void **state)
{
	char path[SCRATCH_MAX];
	struct rlimit before;
	struct lines *l = open_full(scratch_file(path), &before);

	lines_close(l, CR_NEVER / 2);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	expect_text(path, "123456789\n123456789\n");
}

static void a_file_that_cannot_be_is_named(void **state)
{
	struct lines *l;
	struct cr_err e = { "" };

	assert_int_equal(lines_open(&l, "/nowhere/at/all", 100, &e), -ENOENT);
	assert_non_null(strstr(e.text, "/nowhere/at/all"));
}

static void *put_many(void *arg)
{
	for (unsigned i = 0; i < 1000; i++)
		(void)lines_put(arg, "abcdefghij");
	return NULL;
}

static void threads_do_not_mix_their_lines(void **state)
{
	char path[SCRATCH_MAX];
	struct lines *l = open_at(scratch_file(path), LINES_BUFFER);
	pthread_t thread[4];
	char *text;

	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, put_many, l),
				 0);
	for (unsigned i = 0; i < 4; i++)
		(void)pthread_join(thread[i], NULL);
	lines_close(l, PATIENCE);
	text = text_of(path);
	assert_int_equal(strlen(text), 4000 * 11);
	for (unsigned i = 0; i < 4000; i++)
		assert_memory_equal(text + 11ul * i, "abcdefghij\n", 11);
	free(text);
}

/* As a terminal or a pipe is that others have made so. */
static void a_reader_that_is_slow_costs_nothing_if_writes_do_not_block(
	void **state)
{
	enum { SMALL_PIPE = 4096, LINES = 1000 };
	static const char line[] = "a line that waits";
	char path[SCRATCH_MAX], text[sizeof(line) + 1];
	struct lines_stats stats = { 0 };
	struct lines *l;
	FILE *f;
	int fd, its;

	(void)scratch_file(path);
	(void)unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_int_equal(fcntl(fd, F_SETPIPE_SZ, SMALL_PIPE), SMALL_PIPE);
	its = dup(fd); /* which number is next */
	(void)close(its);
	l = open_at(path, LINES_BUFFER);
	assert_int_equal(fcntl(its, F_SETFL, O_NONBLOCK), 0);
	for (unsigned i = 0; i < LINES; i++)
		assert_true(lines_put(l, line));
	assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
	f = fdopen(fd, "r");
	assert_non_null(f);
	/* until all is there, or it has failed */
	for (unsigned i = 0; i < LINES && !stats.failed; i++) {
		assert_non_null(fgets(text, sizeof(text), f));
		lines_stats(l, &stats);
	}
	assert_int_equal(stats.failed, 0);
	lines_close(l, PATIENCE);
	(void)fclose(f);
}

/* Nor does it keep the process from ending. */
static void a_reader_that_stalls_costs_no_more_than_the_limit(void **state)
{
	enum { SMALL_PIPE = 4096, LINES = 1000 };
	char path[SCRATCH_MAX];
	struct lines *l;
	int fd;

	(void)scratch_file(path);
	(void)unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_SETPIPE_SZ, SMALL_PIPE), SMALL_PIPE);
	l = open_at(path, LINES_BUFFER);
	for (unsigned i = 0; i < LINES; i++)
		assert_true(lines_put(l, "a line that waits"));
	lines_close(l, 100 * CR_MS); /* comes back */
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_whole_and_in_order),
		cmocka_unit_test(
			a_file_is_appended_to_and_private_when_it_is_new),
		cmocka_unit_test(reopening_follows_the_name),
		cmocka_unit_test(a_slow_disk_costs_lines_and_no_time),
		cmocka_unit_test(
			a_reader_that_is_slow_costs_nothing_if_writes_do_not_block),
		cmocka_unit_test(
			a_reader_that_stalls_costs_no_more_than_the_limit),
		cmocka_unit_test(a_full_disk_is_tried_again),
		cmocka_unit_test(what_waits_for_a_full_disk_goes_to_a_new_file),
		cmocka_unit_test(a_file_on_a_full_disk_is_opened_again),
		cmocka_unit_test(
			a_full_disk_without_room_for_a_new_file_costs_no_line),
		cmocka_unit_test(a_disk_that_stays_full_holds_no_end_up),
		cmocka_unit_test(a_file_that_cannot_be_is_named),
		cmocka_unit_test(threads_do_not_mix_their_lines),
	};

	return cmocka_run_group_tests_name("lines", tests, NULL, NULL);
}
