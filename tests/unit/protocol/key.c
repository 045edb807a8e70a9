/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key of control by SCTP: what is it, who may have it, whom is it shown.
 */
#include "cmocka_cr.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protocol/key.h"
#include "scratch.h"

static char path[SCRATCH_MAX + 8];
static char key[KEY_SIZE];
static struct cr_err e;

static void name_file(void)
{
	char folder[SCRATCH_MAX];

	(void)snprintf(path, sizeof(path), "%s/key", scratch_folder(folder));
}

static void write_file(const char *text, mode_t mode)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	(void)fputs(text, f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void one_that_is_not_there_is_made_once(void **state)
{
	char again[KEY_SIZE];
	struct stat st;

	name_file();
	assert_int_equal(key_serve(key, path, &e), 0);
	assert_int_equal(strlen(key), 64);
	assert_int_equal(strspn(key, "0123456789abcdef"), 64);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(key_serve(again, path, &e), 0);
	assert_string_equal(again, key);
	(void)unlink(path);
	assert_int_equal(key_serve(again, path, &e), 0);
	assert_string_not_equal(again, key);
}

static void others_must_not_read_or_write_it(void **state)
{
	static const mode_t bad[] = { 0604, 0602, 0601, 0620, 0666, 0777 };
	static const mode_t good[] = { 0600, 0640, 0400, 0440 };

	name_file();
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		write_file("0123456789abcdef\n", bad[i]);
		assert_int_equal(key_serve(key, path, &e), -EACCES);
	}
	for (unsigned i = 0; i < sizeof(good) / sizeof(*good); i++) {
		write_file("0123456789abcdef\r\nmore\n", good[i]);
		assert_int_equal(key_serve(key, path, &e), 0);
		assert_string_equal(key, "0123456789abcdef");
		(void)unlink(path);
	}
}

static void it_must_be_roots_or_ours(void **state)
{
	if (geteuid())
		skip();
	name_file();
	write_file("0123456789abcdef\n", 0600);
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_int_equal(key_serve(key, path, &e), -EACCES);
	assert_non_null(strstr(e.text, "user 65534's"));
}

static void it_is_shown_at_loopback_only_or_when_named(void **state)
{
	struct transport_addr to = { .host = "192.0.2.1" };

	name_file();
	write_file("0123456789abcdef", 0600);
	assert_int_equal(key_show(key, path, &to, &e), 0);
	assert_string_equal(key, "0123456789abcdef");
	assert_int_equal(key_show(key, NULL, &to, &e), 0);
	assert_string_equal(key, "");
	(void)snprintf(to.host, sizeof(to.host), "node.example");
	assert_int_equal(key_show(key, NULL, &to, &e), 0);
	assert_string_equal(key, "");
	(void)snprintf(to.path, sizeof(to.path), "/run/control");
	assert_int_equal(key_show(key, path, &to, &e), 0);
	assert_string_equal(key, "");
}

static void it_matches_itself_only(void **state)
{
	static const char has[KEY_SIZE] = "0123456789abcdef";
	static const char none[KEY_SIZE] = "";

	assert_true(key_matches(has, "0123456789abcdef"));
	assert_false(key_matches(has, ""));
	assert_false(key_matches(has, "0123456789abcde"));
	assert_false(key_matches(has, "0123456789abcdef0"));
	assert_false(key_matches(has, "0123456789abcdef0123456789abcdef"));
	assert_false(key_matches(has, "0123456789abcdeF"));
	assert_false(key_matches(none, "x"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_is_not_there_is_made_once),
		cmocka_unit_test(others_must_not_read_or_write_it),
		cmocka_unit_test(it_must_be_roots_or_ours),
		cmocka_unit_test(it_is_shown_at_loopback_only_or_when_named),
		cmocka_unit_test(it_matches_itself_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
