/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines by table: values, errors, help and man page agree. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "cmocka_cr.h"

static struct values {
	bool verbose, admission;
	const char *output;
	struct field_texts set;
	int64_t port, limit, load, colour;
} v;

static const char *const colours[] = { "never", "auto", "always", NULL };

#define AT(m) FIELD_IN(struct values, m)

static const struct field rows[] = {
	OPT_HEADING("Network"),
	{ .kind = FIELD_INT,
	  .name = "port",
	  .letter = 'p',
	  .label = "PORT",
	  AT(port),
	  .dflt = 5004,
	  .min = 1,
	  .max = 65535,
	  .help = "UDP port to listen on" },
	{ .kind = FIELD_TIME,
	  .name = "limit",
	  AT(limit),
	  .dflt = 20000000,
	  .min = 0,
	  .max = 1000000000,
	  .help = "longest wait" },
	OPT_HEADING("Work"),
	{ .kind = FIELD_SHARE,
	  .name = "load",
	  AT(load),
	  .dflt = 970000,
	  .help = "share of the capacity" },
	{ .kind = FIELD_CHOICE,
	  .name = "colour",
	  AT(colour),
	  .dflt = 1,
	  .names = colours,
	  .help = "when to use colours, which is a matter of taste and of the "
		  "terminal and needs a text that is longer than one line" },
	{ .kind = FIELD_BOOL,
	  .name = "verbose",
	  .letter = 'v',
	  AT(verbose),
	  .help = "say more" },
	{ .kind = FIELD_BOOL,
	  .name = "no-admission",
	  AT(admission),
	  .flags = FIELD_OFF,
	  .help = "accept everything" },
	{ .kind = FIELD_TEXT,
	  .name = "output",
	  .letter = 'o',
	  .label = "FILE",
	  AT(output),
	  .help = "where to write" },
	{ .kind = FIELD_TEXTS,
	  .name = "set",
	  .letter = 's',
	  .label = "KEY=VALUE",
	  AT(set),
	  .help = "set a key; may be repeated" },
	{ .name = NULL },
};

static const struct cli_line examples[] = {
	{ "thing -v a", "the usual" },
	{ 0 },
};

static const struct cli_line exits[] = { { "0", "all well" }, { 0 } };

static const struct cli cli = {
	.program = "thing",
	.synopsis = "[OPTION]... OPERAND [OPERAND]",
	.summary = "do a thing",
	.text = ".A text that starts with a dot\nand a -second paragraph",
	.opts = rows,
	.vars = &v,
	.examples = examples,
	.exits = exits,
	.min_args = 1,
	.max_args = 2,
};

/* Parses words into v. */
static int parse(const char *const *words, struct cr_err *e)
{
	static char copy[16][64];
	char *argv[17];
	int argc = 0;

	memset(&v, 0xff, sizeof(v));
	for (; words[argc]; argc++) {
		(void)snprintf(copy[argc], sizeof(copy[argc]), "%s",
			       words[argc]);
		argv[argc] = copy[argc];
	}
	argv[argc] = NULL;
	return cli_parse(&cli, argc, argv, e);
}

#define PARSE(...)                                                             \
	parse((const char *const[]){ "thing", __VA_ARGS__, NULL }, &e)

static void every_kind_is_read_among_operands(void **state)
{
	struct cr_err e = { "" };
	int first = PARSE("a", "-vp", "99", "--limit=1.5ms", "--load=103%",
			  "--colour=always", "--no-admission", "-ofile",
			  "--set=x=1", "-s", "y=2", "--", "-b");

	assert_int_equal(first, 12);
	assert_true(v.verbose);
	assert_false(v.admission);
	assert_int_equal(v.port, 99);
	assert_int_equal(v.limit, 1500000);
	assert_int_equal(v.load, 1030000);
	assert_int_equal(v.colour, 2);
	assert_string_equal(v.output, "file");
	assert_int_equal(v.set.count, 2);
	assert_string_equal(v.set.item[0], "x=1");
	assert_string_equal(v.set.item[1], "y=2");
}

static void what_is_not_given_keeps_its_default(void **state)
{
	struct cr_err e = { "" };

	assert_int_equal(PARSE("a"), 1);
	assert_false(v.verbose);
	assert_true(v.admission);
	assert_null(v.output);
	assert_int_equal(v.set.count, 0);
	assert_int_equal(v.port, 5004);
	assert_int_equal(v.limit, 20000000);
	assert_int_equal(v.load, 970000);
	assert_int_equal(v.colour, 1);
}

static void expect_error(const char *want, const char *const *words)
{
	struct cr_err e = { "" };

	assert_int_equal(parse(words, &e), -EINVAL);
	if (!strstr(e.text, want))
		fail_msg("\"%s\" is not in \"%s\"", want, e.text);
}

#define EXPECT_ERROR(want, ...)                                                \
	expect_error(want, (const char *const[]){ "thing", __VA_ARGS__, NULL })

static void errors_name_the_option_and_the_way_out(void **state)
{
	EXPECT_ERROR("unknown option --limt; did you mean '--limit'?",
		     "--limt=3", "a");
	EXPECT_ERROR("unknown option -x", "-vx", "a");
	EXPECT_ERROR("--port=70000: needs a whole number from 1 to 65535",
		     "-p70000", "a");
	EXPECT_ERROR("--limit=2s: needs a time with its unit (ns, us, ms, s) "
		     "from 0 to 1s",
		     "--limit=2s", "a");
	EXPECT_ERROR("needs a time with its unit", "--limit=20", "a");
	EXPECT_ERROR("--port=x: needs a whole number", "--port=x", "a");
	EXPECT_ERROR("did you mean 'always'", "--colour=allways", "a");
	EXPECT_ERROR("needs an argument", "a", "--port");
	EXPECT_ERROR("needs an argument", "a", "-p");
	EXPECT_ERROR("takes no argument", "--verbose=3", "a");
	EXPECT_ERROR("missing operand; usage: thing [OPTION]", "-v");
	EXPECT_ERROR("unexpected operand \"c\"", "a", "b", "c");
	EXPECT_ERROR("could be several", "--l=1", "a");
}

static void a_list_has_an_end(void **state)
{
	static char thing[] = "thing", operand[] = "a", set[] = "--set=x";
	char *argv[3 + FIELD_TEXTS_MAX + 1] = { thing, operand };
	struct cr_err e = { "" };
	int argc = 2;

	for (unsigned i = 0; i <= FIELD_TEXTS_MAX; i++)
		argv[argc++] = set;
	assert_int_equal(cli_parse(&cli, argc, argv, &e), -EINVAL);
	assert_int_equal(v.set.count, FIELD_TEXTS_MAX);
}

static void keep_lines(void *arg, const char *why)
{
	FILE *f = arg;

	(void)fprintf(f, "%s\n", why);
}

/* What cli_take() says of words, a line each; and what it returns. */
static int take_all(const struct cli *c, int argc, char **argv,
		    struct cli_given *given, char *reported, size_t size)
{
	static struct cli_given own[CLI_MAX_OPTS];
	FILE *f = fmemopen(reported, size, "w");
	const struct cli_target to = { c, &v, given ? given : own, keep_lines,
				       f };
	int first;

	assert_non_null(f);
	first = cli_take(&to, argc, argv);
	assert_int_equal(fclose(f), 0);
	return first;
}

static void all_that_is_wrong_is_told(void **state)
{
	static char words[][16] = { "thing", "a",   "--limit=x",
				    "b",     "-p0", "--load",
				    "8",     "c",   "--output" };
	static char bogus[] = "--bogus";
	char *argv[11], reported[1024] = "";

	for (unsigned i = 0; i < 9; i++)
		argv[i] = words[i];
	argv[9] = NULL;
	field_defaults(rows, &v);
	assert_int_equal(
		take_all(&cli, 9, argv, NULL, reported, sizeof(reported)),
		-EINVAL);
	assert_string_equal(
		reported,
		"--limit=x: needs a time with its unit (ns, us, ms, s) from 0 "
		"to 1s\n"
		"--port=0: needs a whole number from 1 to 65535\n"
		"option --output needs an argument\n"
		"unexpected operand \"c\"\n");
	assert_int_equal(v.load, 8000000); /* what is in order is taken */
	/* what is behind it may be its value */
	argv[0] = words[0];
	argv[1] = bogus;
	argv[2] = words[2];
	argv[3] = NULL;
	assert_int_equal(
		take_all(&cli, 3, argv, NULL, reported, sizeof(reported)),
		-EINVAL);
	assert_non_null(strstr(reported, "unknown option --bogus\n--limit="));
	assert_null(strstr(reported, "operand"));
}

static const struct cli *with_file(void)
{
	static struct cli c;

	c = cli;
	c.has_file = true;
	return &c;
}

static void where_there_is_a_file_flags_have_a_word(void **state)
{
	static char words[][32] = {
		"thing",    "a", "-v", "--verbose=no", "--no-admission=no",
		"--set=new"
	};
	char *argv[] = { words[0], words[1], words[2], words[3],
			 words[4], words[5], NULL };
	static struct cli_given given[CLI_MAX_OPTS];
	const struct cli_target file = { with_file(), &v, given, keep_lines,
					 NULL };
	char reported[256];
	struct cr_err e;

	field_defaults(rows, &v);
	for (const struct field *o = rows; !field_is_end(o); o++)
		if (o->kind == FIELD_BOOL)
			assert_int_equal(
				cli_give(&file, o, CLI_FILE, 1, "yes", &e), 0);
	assert_int_equal(cli_give(&file, field_find(rows, "set"), CLI_FILE, 2,
				  "old", &e),
			 0);
	assert_true(v.verbose);
	assert_false(v.admission);
	assert_int_equal(take_all(with_file(), 6, argv, given, reported,
				  sizeof(reported)),
			 5);
	assert_false(v.verbose);
	assert_true(v.admission);
	assert_int_equal(v.set.count, 1);
	assert_string_equal(v.set.item[0], "new");
	for (unsigned i = 0; !field_is_end(&rows[i]); i++)
		assert_int_equal(given[i].source,
				 rows[i].kind == FIELD_BOOL ||
						 rows[i].kind == FIELD_TEXTS
					 ? CLI_COMMAND_LINE
					 : CLI_DEFAULT);
	(void)strcpy(words[2], "--verbose=yep");
	assert_int_equal(take_all(with_file(), 6, argv, given, reported,
				  sizeof(reported)),
			 -EINVAL);
	assert_non_null(strstr(reported, "--verbose=yep: needs yes or no"));
}

static void a_value_is_peeked_at_whatever_else_is_wrong(void **state)
{
	static char words[][16] = { "thing", "a",	 "--bad", "-o", "x",
				    "-p",    "--outp=y", "--",	  "-oz" };
	char *argv[10];

	for (unsigned i = 0; i < 9; i++)
		argv[i] = words[i];
	argv[9] = NULL;
	assert_string_equal(cli_peek(&cli, 5, argv, "output"), "x");
	assert_null(cli_peek(&cli, 3, argv, "output"));
	(void)strcpy(words[5], "-p1");
	assert_string_equal(cli_peek(&cli, 9, argv, "output"), "y");
	assert_ptr_equal(argv[1], words[1]);
}

static void a_value_as_text_sets_the_same(void **state)
{
	static const char *const texts[][3] = {
		{ "port", "99", "99" },
		{ "limit", "0.0015000010s", "1.500001ms" },
		{ "load", "0.123456", "12.3456%" },
		{ "colour", "always", "always" },
		{ "verbose", "on", "yes" },
		{ "output", "x", "x" },
	};
	char buf[64], again[64];

	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const struct field *o = field_find(rows, texts[i][0]);
		const char *text = field_shortest(o, texts[i][1], buf, 64);

		assert_string_equal(text, texts[i][2]);
		assert_string_equal(field_shortest(o, text, again, 64), text);
	}
}

static char *print_with(void (*print)(const struct cli *, FILE *))
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	print(&cli, f);
	assert_int_equal(fclose(f), 0);
	return text;
}

static void help_shows_every_row_within_80_columns(void **state)
{
	char *text = print_with(cli_help);

	assert_non_null(strstr(text, "-p, --port=PORT"));
	assert_non_null(strstr(text, "(default: 5004)"));
	assert_non_null(strstr(text, "(default: 20ms)"));
	assert_non_null(strstr(text, "(default: 97%)"));
	assert_non_null(strstr(text, "--colour=never|auto|always"));
	assert_non_null(strstr(text, "\nNetwork:\n"));
	assert_non_null(strstr(text, "Exit status:"));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		assert_in_range(strlen(line), 0, 80);
	free(text);
}

static void the_man_page_escapes_what_troff_would_take(void **state)
{
	char *text = print_with(cli_man);

	assert_non_null(strstr(text, ".TH THING 1"));
	assert_non_null(strstr(text, "\n\\&.A text"));
	assert_non_null(strstr(text, "\\-second"));
	assert_non_null(strstr(text, "\\fB\\-p\\fR, \\fB\\-\\-port\\fR="));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_is_read_among_operands),
		cmocka_unit_test(what_is_not_given_keeps_its_default),
		cmocka_unit_test(errors_name_the_option_and_the_way_out),
		cmocka_unit_test(all_that_is_wrong_is_told),
		cmocka_unit_test(where_there_is_a_file_flags_have_a_word),
		cmocka_unit_test(a_value_is_peeked_at_whatever_else_is_wrong),
		cmocka_unit_test(a_value_as_text_sets_the_same),
		cmocka_unit_test(a_list_has_an_end),
		cmocka_unit_test(help_shows_every_row_within_80_columns),
		cmocka_unit_test(the_man_page_escapes_what_troff_would_take),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
