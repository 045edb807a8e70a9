/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writers of files that decide what the process does: every mode, of a file
 * and a folder, of each owner.
 */
#define _GNU_SOURCE /* S_IFREG, S_IFDIR */
#include "cmocka_cr.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/trust.h"
#include "scratch.h"

/* Of a group of others', and of root's or ours. */
static void all_modes_of_ours(void **state)
{
	const gid_t group[] = { getegid() + 1, getegid(), 0 };
	struct cr_err who;

	for (unsigned i = 0; i < 3 * 01000; i++) {
		unsigned mode = i % 01000;
		struct stat st = { .st_mode = S_IFREG | mode,
				   .st_uid = geteuid(),
				   .st_gid = group[i / 01000] };
		enum trust among =
			mode & S_IWGRP && i < 01000 ? TRUST_GROUP : TRUST_OWN;
		enum trust want = mode & S_IWOTH ? TRUST_ANY : among;

		assert_int_equal(trust_of(&st, &who), want);
		st.st_uid = 0; /* root's are everybody's to rely on */
		assert_int_equal(trust_of(&st, &who), want);
		st.st_mode = S_IFDIR | 01000 | mode;
		assert_int_equal(trust_of(&st, &who), among);
	}
}

static void another_users_is_nobodys_to_rely_on(void **state)
{
	struct stat st = { .st_mode = S_IFREG | 0600, .st_uid = geteuid() + 1 };
	struct cr_err who;

	assert_int_equal(trust_of(&st, &who), TRUST_ANY);
	assert_non_null(strstr(who.text, "it is user"));
}

static void code_needs_a_file_and_a_folder_of_ours(void **state)
{
	char folder[SCRATCH_MAX], path[SCRATCH_MAX + 8];
	struct cr_err e;
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/x.so", scratch_folder(folder));
	assert_int_equal(trust_code(path, &e), 0); /* dlopen() has words */
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(trust_code(path, &e), 0);
	assert_int_equal(chmod(path, 0646), 0);
	assert_int_equal(trust_code(path, &e), -ENOEXEC);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(chmod(folder, 0777), 0);
	assert_int_equal(trust_code(path, &e), -ENOEXEC);
	assert_non_null(strstr(e.text, "of its folder everybody"));
	assert_int_equal(chmod(folder, 01777), 0);
	assert_int_equal(trust_code(path, &e), 0);
	assert_int_equal(trust_code("libm.so.6", &e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_modes_of_ours),
		cmocka_unit_test(another_users_is_nobodys_to_rely_on),
		cmocka_unit_test(code_needs_a_file_and_a_folder_of_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
