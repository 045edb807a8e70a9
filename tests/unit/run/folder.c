/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run folder: made once, written whole or complained about.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_cr.h"
#include "run/run.h"
#include "scratch.h"

struct place {
	char top[SCRATCH_MAX];
	char dir[SCRATCH_MAX + 8];     /* top/run */
	char inside[SCRATCH_MAX + 24]; /* top/run/run.json */
};

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	(void)snprintf(p->dir, sizeof(p->dir), "%s/run",
		       scratch_folder(p->top));
	(void)snprintf(p->inside, sizeof(p->inside), "%s/run.json", p->dir);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static void expect_content(const char *path, const char *want)
{
	char got[200] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	(void)fread(got, 1, sizeof(got) - 1, f);
	(void)fclose(f);
	assert_string_equal(got, want);
}

static void made_when_it_is_not_there(void **state)
{
	struct place *p = *state;
	struct cr_err e;
	struct stat s;

	for (int i = 0; i < 2; i++)
		assert_int_equal(run_folder_make(p->dir, &e), 0);
	assert_int_equal(stat(p->dir, &s), 0);
	assert_true(S_ISDIR(s.st_mode));
}

static void folders_above_it_are_made(void **state)
{
	struct place *p = *state;
	struct cr_err e;
	struct stat s;

	assert_int_equal(run_folder_make(p->inside, &e), 0);
	assert_int_equal(stat(p->inside, &s), 0);
	assert_true(S_ISDIR(s.st_mode));
	assert_int_equal(rmdir(p->inside), 0);
	assert_int_equal(run_folder_make("/proc/none/x", &e), -ENOENT);
	assert_non_null(strstr(e.text, "/proc/none: "));
}

static void a_file_of_that_name_is_told(void **state)
{
	struct place *p = *state;
	FILE *f = fopen(p->dir, "w");
	struct cr_err e;

	assert_non_null(f);
	(void)fclose(f);
	assert_int_equal(run_folder_make(p->dir, &e), -ENOTDIR);
	assert_non_null(strstr(e.text, p->dir));
}

/* The file behind a link counts. */
static void a_link_to_a_folder_is_a_folder(void **state)
{
	struct place *p = *state;
	struct cr_err e;

	assert_int_equal(symlink("/tmp", p->dir), 0);
	assert_int_equal(run_folder_make(p->dir, &e), 0);
	assert_int_equal(unlink(p->dir), 0);
	assert_int_equal(symlink("/nonexistent", p->dir), 0);
	assert_int_equal(run_folder_make(p->dir, &e), -ENOENT);
}

static void run_json_is_written_and_replaced(void **state)
{
	struct place *p = *state;
	struct cr_err e;

	assert_int_equal(run_folder_make(p->dir, &e), 0);
	for (int i = 7; i < 9; i++) {
		json_t *j = json_pack("{s:i}", "seed", i);

		assert_int_equal(run_folder_write(p->dir, j, &e), 0);
		json_decref(j);
	}
	expect_content(p->inside, "{\n \"seed\": 8\n}\n");
}

static void no_json_is_no_memory(void **state)
{
	struct place *p = *state;
	struct cr_err e;

	assert_int_equal(run_folder_make(p->dir, &e), 0);
	assert_int_equal(run_folder_write(p->dir, NULL, &e), -ENOMEM);
	assert_int_equal(access(p->inside, F_OK), -1);
}

/* The disk is full for what fits a buffer, seen when the file is closed, and
 * for what does not. */
static void a_full_disk_is_told(void **state)
{
	static const size_t sizes[] = { 1, 1 << 20 };
	struct place *p = *state;
	struct run_file file;
	struct cr_err e;

	assert_int_equal(run_folder_make(p->dir, &e), 0);
	assert_int_equal(symlink("/dev/full", p->inside), 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(run_file_open(&file, p->dir, "run.json", &e),
				 0);
		for (size_t n = 0; n < sizes[i]; n++)
			(void)fputc('x', file.f);
		assert_int_equal(run_file_close(&file, &e), -EIO);
		assert_non_null(strstr(e.text, p->inside));
		assert_non_null(strstr(e.text, "disk full?"));
	}
}

static void a_folder_that_is_not_there_is_told(void **state)
{
	struct place *p = *state;
	struct run_file file;
	struct cr_err e;

	assert_int_equal(run_file_open(&file, p->dir, "run.json", &e), -ENOENT);
	assert_non_null(strstr(e.text, p->inside));
}

/* A name cut short would be another file. */
static void a_path_too_long_is_told(void **state)
{
	char dir[RUN_PATH_MAX];
	struct run_file file;
	struct cr_err e;

	memset(dir, '/', sizeof(dir));
	memcpy(dir, "/tmp", 4);
	dir[sizeof(dir) - 1] = '\0';
	assert_int_equal(run_file_open(&file, dir, "run.json", &e),
			 -ENAMETOOLONG);
}

#define IN_A_PLACE(test)                                                       \
	cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_PLACE(made_when_it_is_not_there),
		IN_A_PLACE(folders_above_it_are_made),
		IN_A_PLACE(a_file_of_that_name_is_told),
		IN_A_PLACE(a_link_to_a_folder_is_a_folder),
		IN_A_PLACE(run_json_is_written_and_replaced),
		IN_A_PLACE(no_json_is_no_memory),
		IN_A_PLACE(a_full_disk_is_told),
		IN_A_PLACE(a_folder_that_is_not_there_is_told),
		cmocka_unit_test(a_path_too_long_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
