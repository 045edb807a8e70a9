/* SPDX-License-Identifier: Apache-2.0 */
/* A file and a command line by one table: which of them counts, where each
 * value is from, what is wrong, and that what is printed says the same. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_cr.h"
#include "config/config.h"
#include "scratch.h"

static struct values {
	bool poll, admission, check;
	const char *name;
	struct field_texts set;
	int64_t ring, limit, share, level;
} v;

static const char *const levels[] = { "error", "warn", "info", NULL };

#define AT(m) FIELD_IN(struct values, m)

static const struct field rows[] = {
	OPT_HEADING("Frames"),
	{ .kind = FIELD_INT,
	  .name = "ring",
	  .letter = 'r',
	  .label = "FRAMES",
	  AT(ring),
	  .dflt = 8,
	  .min = 2,
	  .max = 4096,
	  .help = "frames that may wait" },
	{ .kind = FIELD_TIME,
	  .name = "limit",
	  AT(limit),
	  .dflt = 20000000,
	  .help = "longest wait",
	  .flags = FIELD_LIVE },
	{ .kind = FIELD_SHARE,
	  .name = "share",
	  AT(share),
	  .dflt = 970000,
	  .help = "share of a CPU" },
	{ .kind = FIELD_BOOL, .name = "poll", AT(poll), .help = "spin" },
	{ .kind = FIELD_BOOL,
	  .name = "no-admission",
	  AT(admission),
	  .flags = FIELD_OFF,
	  .help = "accept everything" },
	OPT_HEADING("Words"),
	{ .kind = FIELD_TEXT,
	  .name = "name",
	  AT(name),
	  .help = "what it is called" },
	{ .kind = FIELD_TEXTS,
	  .name = "set",
	  AT(set),
	  .help = "may be repeated" },
	{ .kind = FIELD_CHOICE,
	  .name = "level",
	  AT(level),
	  .names = levels,
	  .help = "how much" },
	{ .kind = FIELD_BOOL,
	  .name = "check",
	  AT(check),
	  .help = "say, and exit",
	  .flags = FIELD_COMMAND_LINE },
	{ .name = NULL },
};

static const struct cli cli = {
	.program = "thing",
	.synopsis = "",
	.summary = "do a thing",
	.opts = rows,
	.vars = &v,
	.has_file = true,
};

static char path[SCRATCH_MAX];

static int setup(void **state)
{
	(void)scratch_file(path);
	return 0;
}

static void write_file(const char *text, size_t size)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

/* Reads @path, and words, of which the last one is NULL. */
static int read_words(struct config *c, const char *from,
		      const char *const *words)
{
	static char copy[8][64];
	static char *argv[9];
	struct config_ask ask = { .cli = &cli,
				  .vars = &v,
				  .argv = argv,
				  .path = from,
				  .must = true };

	for (; words[ask.argc]; ask.argc++) {
		(void)snprintf(copy[ask.argc], sizeof(copy[0]), "%s",
			       words[ask.argc]);
		argv[ask.argc] = copy[ask.argc];
	}
	argv[ask.argc] = NULL;
	return config_read(c, &ask);
}

#define READ(c, text, ...)                                                     \
	(write_file(text, sizeof(text) - 1),                                   \
	 read_words(c, path,                                                   \
		    (const char *const[]){ "thing", __VA_ARGS__, NULL }))

static void a_file_replaces_defaults(void **state)
{
	struct config c;

	assert_int_equal(READ(&c,
			      "ring = 9\nlimit = 1.5ms\nshare = 50%\n"
			      "poll = yes\nno-admission = yes\nname = a b\n"
			      "set = x=1\nset = y=2\nlevel = info\n",
			      "--"),
			 0);
	assert_int_equal(v.ring, 9);
	assert_int_equal(v.limit, 1500000);
	assert_int_equal(v.share, 500000);
	assert_true(v.poll);
	assert_false(v.admission);
	assert_string_equal(v.name, "a b");
	assert_int_equal(v.set.count, 2);
	assert_string_equal(v.set.item[0], "x=1");
	assert_string_equal(v.set.item[1], "y=2");
	assert_int_equal(v.level, 2);
	config_free(&c);
}

static void flags_say_no_too(void **state)
{
	struct config c;

	assert_int_equal(READ(&c, "poll = no\nno-admission = no\n", "--"), 0);
	assert_false(v.poll);
	assert_true(v.admission);
	config_free(&c);
}

static void the_command_line_replaces_the_file(void **state)
{
	struct config c;

	assert_int_equal(READ(&c,
			      "ring = 9\npoll = yes\nno-admission = yes\n"
			      "set = x\nset = y\nlimit = 1s\n",
			      "-r10", "--poll=no", "--no-admission=no",
			      "--set=z", "--level=warn"),
			 0);
	assert_int_equal(v.ring, 10);
	assert_false(v.poll);
	assert_true(v.admission);
	assert_int_equal(v.set.count, 1);
	assert_string_equal(v.set.item[0], "z");
	assert_int_equal(v.limit, 1000000000);
	assert_int_equal(v.level, 1);
	config_free(&c);
}

static bool has(const struct config_faults *f, const char *what)
{
	for (unsigned i = 0; i < f->n; i++)
		if (strstr(f->text[i].text, what))
			return true;
	return false;
}

static void reported(const struct config *c, const char *what)
{
	if (!has(&c->faults, what))
		fail_msg("\"%s\" is not told, but \"%s\"", what,
			 c->faults.text[0].text);
}

static void all_faults_are_told_with_their_lines(void **state)
{
	struct config c;
	char at[SCRATCH_MAX + 64];

	assert_int_equal(READ(&c,
			      "rnig = 9\nring = 1\nlimit = 20\n\n"
			      "level = wran\npoll = maybe\n--poll = yes\n"
			      "check = yes\nring = 3\n",
			      "--level=infos"),
			 -EINVAL);
	(void)snprintf(at, sizeof(at), "%s:1: unknown option \"rnig\"; did ",
		       path);
	reported(&c, at);
	reported(&c, "did you mean 'ring'?");
	reported(&c, ":2: --ring=1: needs a whole number from 2 to 4096");
	reported(&c, ":3: --limit=20: needs a time with its unit");
	reported(&c, ":5: --level=wran: no such name; did you mean 'warn'?");
	reported(&c, ":6: --poll=maybe: needs yes or no");
	reported(&c, ":7: write it without dashes: poll");
	reported(&c, ":8: check belongs on the command line");
	reported(&c, ":9: ring is given twice: before that in line 2");
	reported(&c, "--level=infos: no such name");
	assert_int_equal(c.faults.n, 9);
	assert_int_equal(c.faults.more, 0);
	config_free(&c);
}

static void too_many_faults_are_counted(void **state)
{
	char text[(CONFIG_FAULTS_MAX + 2) * 3 + 1] = "";
	struct config c;

	for (unsigned i = 0; i < CONFIG_FAULTS_MAX + 2; i++)
		(void)strcat(text, "a=\n");
	assert_int_equal(READ(&c, text, "--"), -EINVAL);
	assert_int_equal(c.faults.n, CONFIG_FAULTS_MAX);
	assert_int_equal(c.faults.more, 2);
	config_free(&c);
}

static void a_value_is_blamed_where_it_is(void **state)
{
	struct config c;

	assert_int_equal(READ(&c, "set = x\n\nset = y\nring = 5\n", "-r9"), 0);
	config_blame(&c, "set", 1, "no");
	config_blame(&c, "ring", 0, "no");
	config_blame(&c, NULL, 0, "no \x1b two");
	reported(&c, ":3: --set: no");
	assert_string_equal(c.faults.text[1].text, "--ring: no");
	assert_string_equal(c.faults.text[2].text, "no ? two");
	config_free(&c);
}

static char *print(const struct config *c)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	struct cr_err e;

	assert_non_null(f);
	assert_int_equal(config_print(c, f, &e), 0);
	assert_int_equal(fclose(f), 0);
	return text;
}

static void contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in \"%s\"", part, text);
}

static void what_holds_is_printed_with_where_it_is_from(void **state)
{
	struct config c;
	char *text, line[SCRATCH_MAX + 64];

	assert_int_equal(READ(&c, "# x\nring = 9\nset = a\nset = b\n",
			      "--name= x", "--poll"),
			 0);
	text = print(&c);
	(void)snprintf(line, sizeof(line), "\n# %s:2\nring = 9\n", path);
	contains(text, line);
	(void)snprintf(line, sizeof(line), "\n# %s:4\nset = b\n", path);
	contains(text, line);
	contains(text, "\n# default\n#limit = 20ms\n");
	contains(text, "\n# default\n#no-admission = no\n");
	contains(text, "\n# command line\npoll = yes\n");
	contains(text, "\n# command line\nname = \" x\"\n");
	assert_null(strstr(text, "check"));
	free(text);
	config_free(&c);
}

/* The first time names change, of where it is from; then nothing does. */
static void what_is_printed_says_the_same(void **state)
{
	const char *const none[] = { "thing", NULL };
	struct config c, again, third;
	char *text, *second;

	assert_int_equal(READ(&c,
			      "ring = 9\nset = \"\"\nset = b#\nshare = 12.5%\n",
			      "--name=\"x\"", "--no-admission"),
			 0);
	text = print(&c);
	write_file(text, strlen(text));
	assert_int_equal(read_words(&again, path, none), 0);
	for (unsigned i = 0; !field_is_end(&rows[i]); i++)
		assert_true(config_same(&c, &again, &rows[i]));
	assert_string_equal(v.name, "\"x\"");
	second = print(&again);
	write_file(second, strlen(second));
	assert_int_equal(read_words(&third, path, none), 0);
	free(text);
	text = print(&third);
	assert_string_equal(text, second);
	free(text);
	free(second);
	config_free(&c);
	config_free(&again);
	config_free(&third);
}

static void what_no_file_can_have_is_not_printed(void **state)
{
	struct config c;
	struct cr_err e = { "" };
	FILE *f = fopen("/dev/null", "w");

	assert_non_null(f);
	assert_int_equal(READ(&c, "", "--name=a\nb"), 0);
	assert_int_equal(config_print(&c, f, &e), -EINVAL);
	contains(e.text, "--name: its value has a control character");
	config_free(&c);
	assert_int_equal(fclose(f), 0);
}

static void changes_are_seen(void **state)
{
	struct config a, b;

	assert_int_equal(READ(&a, "ring = 9\nset = x\n", "--"), 0);
	assert_int_equal(
		READ(&b, "ring = 9\nset = x\nset = y\nname = n\n", "--"), 0);
	assert_true(config_same(&a, &b, config_row(&a, "ring")));
	assert_false(config_same(&a, &b, config_row(&a, "set")));
	assert_false(config_same(&a, &b, config_row(&a, "name")));
	config_free(&a);
	config_free(&b);
}

static void expect_no_file(const char *from, const char *why)
{
	const char *const none[] = { "thing", NULL };
	struct config c;

	assert_int_equal(read_words(&c, from, none), -EINVAL);
	assert_int_equal(c.faults.n, 1);
	reported(&c, from);
	reported(&c, why);
	config_free(&c);
}

static void what_is_no_file_is_told_and_nobody_waits(void **state)
{
	expect_no_file("/tmp", ": is a directory; needs a file");
	expect_no_file("/dev/null", ": is a device; needs a file");
	expect_no_file("/no/such/file", ": No such file or directory");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_no_file(path, ": is a FIFO; needs a file");
	assert_int_equal(unlink(path), 0);
	write_file("", 0);
	assert_int_equal(truncate(path, (1 << 20) + 1), 0);
	expect_no_file(path, ": has more than 1048576 bytes");
	if (geteuid()) { /* root reads all */
		assert_int_equal(chmod(path, 0), 0);
		expect_no_file(path, ": Permission denied");
		assert_int_equal(chmod(path, 0600), 0);
	}
}

static void a_file_that_need_not_be_there_need_not(void **state)
{
	static char thing[] = "thing", *argv[] = { thing, NULL };
	struct config_ask ask = { .cli = &cli,
				  .vars = &v,
				  .argc = 1,
				  .argv = argv,
				  .path = "/dev/null/x" };
	struct config c;

	assert_int_equal(config_read(&c, &ask), 0);
	assert_null(c.path);
	config_free(&c);
}

/* Every line that is commented out can be used, where it has a value. */
static void the_example_has_every_option(void **state)
{
	char *text = NULL, *line, *save = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	unsigned options = 0;

	assert_non_null(f);
	config_print_example(&cli, f);
	assert_int_equal(fclose(f), 0);
	contains(text, "\n# longest wait\n# SIGHUP takes a new value.\n"
		       "#limit = 20ms\n");
	contains(text, "\n# frames that may wait\n#ring = 8\n");
	contains(text, "\n#name = TEXT\n");
	contains(text, "\n#level = error\n");
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		assert_true(*line == '#');
		assert_in_range(strlen(line), 1, 80);
		options += line[1] != ' ' && line[1];
	}
	assert_int_equal(options, 8);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_replaces_defaults),
		cmocka_unit_test(flags_say_no_too),
		cmocka_unit_test(the_command_line_replaces_the_file),
		cmocka_unit_test(all_faults_are_told_with_their_lines),
		cmocka_unit_test(too_many_faults_are_counted),
		cmocka_unit_test(a_value_is_blamed_where_it_is),
		cmocka_unit_test(what_holds_is_printed_with_where_it_is_from),
		cmocka_unit_test(what_is_printed_says_the_same),
		cmocka_unit_test(what_no_file_can_have_is_not_printed),
		cmocka_unit_test(changes_are_seen),
		cmocka_unit_test(what_is_no_file_is_told_and_nobody_waits),
		cmocka_unit_test(a_file_that_need_not_be_there_need_not),
		cmocka_unit_test(the_example_has_every_option),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
