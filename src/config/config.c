/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options from a file and from the command line, by one table; and files of
 * options, written: what holds, an example, and the manual page (troff with the
 * man macros; the one under docs/man comes from here, so that it agrees with
 * the program).
 */
#include "config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/cli.h"
#include "base/page.h"
#include "base/utf8.h"

void config_faults_add(struct config_faults *f, const char *fmt, ...)
{
	char *text;
	va_list ap;

	if (f->n == CONFIG_FAULTS_MAX) {
		f->more++;
		return;
	}
	text = f->text[f->n++].text;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(f->text[0].text), fmt, ap);
	va_end(ap);
	disarm(text);
}

void config_faults_print(const struct config_faults *f, const char *program,
			 FILE *out)
{
	for (unsigned i = 0; i < f->n; i++)
		(void)fprintf(out, "%s: %s\n", program, f->text[i].text);
	if (f->more)
		(void)fprintf(out, "%s: and %u more\n", program, f->more);
}

static int check_file_kind(int fd, struct cr_err *e)
{
	struct stat is;

	if (fstat(fd, &is))
		return cr_fail(e, -errno, "%s", strerror(errno));
	if (!S_ISREG(is.st_mode))
		return cr_fail(e, -EINVAL, "is %s; needs a file",
			       S_ISDIR(is.st_mode)    ? "a directory"
			       : S_ISFIFO(is.st_mode) ? "a FIFO"
			       : S_ISSOCK(is.st_mode) ? "a socket"
						      : "a device");
	if (is.st_mode & S_IWOTH)
		return cr_fail(e, -EACCES,
			       "everybody can write it (mode %03o), and so "
			       "control this program: chmod o-w",
			       (unsigned)is.st_mode & 07777);
	return 0;
}

static int read_config_text(int fd, char **text, size_t *size, struct cr_err *e)
{
	char *buf = malloc(CONFIG_BYTES + 1);
	ssize_t got = 1;
	size_t n = 0;
	int err = 0;

	if (!buf)
		return cr_fail(e, -ENOMEM, "out of memory");
	/* whatever fstat() says: files of /proc say 0 */
	while (got && !err && n <= CONFIG_BYTES) {
		got = read(fd, buf + n, CONFIG_BYTES + 1 - n);
		if (got >= 0)
			n += (size_t)got;
		else if (errno != EINTR)
			err = cr_fail(e, -errno, "%s", strerror(errno));
	}
	if (!err && n > CONFIG_BYTES)
		err = cr_fail(e, -EFBIG, "has more than %zu bytes",
			      CONFIG_BYTES);
	if (err) {
		free(buf);
		return err;
	}
	buf[n] = '\0';
	*text = buf;
	*size = n;
	return 0;
}

/*
 * Read the file @path into *@text (the caller's; free()), which has @size bytes
 * and a NUL behind them, and maybe others among them. 0; -ENOENT: there is
 * none; or -errno: it cannot be read, is no regular file, or is larger than
 * CONFIG_BYTES; with @e, which does not name it. Waits for the disk, and for
 * nothing else: not for who may write to a FIFO.
 */
static int config_text_read(const char *path, char **text, size_t *size,
			    struct cr_err *e)
{
	/* to open a FIFO waits for its writer, or not */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int err;

	if (fd < 0)
		return cr_fail(e, -errno, "%s", strerror(errno));
	err = check_file_kind(fd, e);
	if (!err)
		err = read_config_text(fd, text, size, e);
	(void)close(fd);
	return err;
}

/* Room for the name, " = " and quotation marks on a line with a value. */
enum { LINE_SPARE = 64 };

static bool is_blank_char(char c)
{
	return c == ' ' || c == '\t';
}

/* The offset at which @text stops being UTF-8; @len: nowhere. */
static size_t utf8_end(const char *text, size_t len)
{
	size_t at = 0, n;

	while ((n = utf8_length(text + at, len - at)))
		at += n;
	return at;
}

/* Cut blanks off both ends of @text, of @len bytes; it gets a NUL. */
static char *trim_blanks(char *text, size_t len)
{
	while (len && is_blank_char(*text)) {
		text++;
		len--;
	}
	while (len && is_blank_char(text[len - 1]))
		len--;
	text[len] = '\0';
	return text;
}

/* A file of another encoding is wrong once, not on every line. */
static int fail_text(struct config_lines *l, const char *what, struct cr_err *e)
{
	l->over = true;
	return cr_fail(e, -EINVAL, "%s", what);
}

/* Skip the byte order mark. */
static int skip_mark(struct config_lines *l, struct cr_err *e)
{
	if (l->size >= 2 && (!memcmp(l->text, "\xff\xfe", 2) ||
			     !memcmp(l->text, "\xfe\xff", 2))) {
		l->line = 1;
		return fail_text(l, "this is UTF-16: save the file as UTF-8",
				 e);
	}
	if (l->size >= 3 && !memcmp(l->text, "\xef\xbb\xbf", 3)) {
		l->text += 3;
		l->size -= 3;
	}
	return 0;
}

/* Take the next line out, and its end. */
static char *cut_line(struct config_lines *l, size_t *len)
{
	char *line = l->text, *end = memchr(line, '\n', l->size);
	size_t whole;

	*len = end ? (size_t)(end - line) : l->size;
	whole = *len + (end != NULL);
	l->text += whole;
	l->size -= whole;
	l->line++;
	if (*len && line[*len - 1] == '\r')
		--*len;
	return line;
}

static int check_line(struct config_lines *l, const char *line, size_t len,
		      struct cr_err *e)
{
	size_t end;

	if (memchr(line, '\0', len))
		return fail_text(l, "a NUL byte: this is no text file", e);
	if (len > CONFIG_LINE)
		return cr_fail(e, -EINVAL,
			       "a line of %zu bytes; %u are the most", len,
			       CONFIG_LINE);
	for (size_t i = 0; i < len; i++)
		if (utf8_is_control(line[i]))
			return cr_fail(e, -EINVAL,
				       "a control character (0x%02x)",
				       (unsigned char)line[i]);
	end = utf8_end(line, len);
	if (end == len)
		return 0;
	l->over = true;
	return cr_fail(
		e, -EINVAL,
		"octet %zu (0x%02x) is not UTF-8: save the file as UTF-8",
		end + 1, (unsigned char)line[end]);
}

/* Takes the quotation marks off *@value. */
static int unquote(char **value, struct cr_err *e)
{
	size_t len = strlen(*value);

	if (**value != '"')
		return 0;
	if (len < 2 || (*value)[len - 1] != '"')
		return cr_fail(e, -EINVAL,
			       "a quotation mark is not closed; what is behind "
			       "the value?");
	(*value)[len - 1] = '\0';
	(*value)++;
	return 0;
}

static int split_line(char *line, char **name, char **value, struct cr_err *e)
{
	char *sign = strchr(line, '=');

	if (!sign)
		return cr_fail(
			e, -EINVAL,
			"\"%.64s\" has no value: write name = value, and "
			"comments on lines of their own",
			line);
	*name = trim_blanks(line, (size_t)(sign - line));
	*value = trim_blanks(sign + 1, strlen(sign + 1));
	if (!**name)
		return cr_fail(e, -EINVAL, "there is no name before the \"=\"");
	if (!**value)
		return cr_fail(e, -EINVAL,
			       "%.64s has no value: leave the line out for the "
			       "default",
			       *name);
	return unquote(value, e);
}

int config_lines_next(struct config_lines *l, char **name, char **value,
		      struct cr_err *e)
{
	int err = l->line ? 0 : skip_mark(l, e);

	while (!err && l->size && !l->over) {
		size_t len;
		char *line = cut_line(l, &len);

		err = check_line(l, line, len, e);
		if (err)
			break;
		line = trim_blanks(line, len);
		if (!*line || *line == '#')
			continue;
		err = split_line(line, name, value, e);
		return err ? err : 1;
	}
	return err;
}

bool config_needs_quotes(const char *value)
{
	size_t len = strlen(value);

	return !len || *value == '"' || is_blank_char(*value) ||
	       is_blank_char(value[len - 1]);
}

bool config_can_hold(const char *value)
{
	size_t len = strlen(value);

	for (size_t i = 0; i < len; i++)
		if (utf8_is_control(value[i]))
			return false;
	return len <= CONFIG_LINE - LINE_SPARE && utf8_end(value, len) == len;
}

/* Longest path that a message shows. */
#define SHOWN "%.200s"

const struct field *config_row(const struct config *c, const char *name)
{
	const struct field *o = field_find(c->cli->opts, name);

	CR_ASSERT(o);
	return o;
}

static const struct cli_given *given_of(const struct config *c,
					const struct field *o)
{
	return &c->given[o - c->cli->opts];
}

const struct cli_given *config_given(const struct config *c, const char *name)
{
	return given_of(c, config_row(c, name));
}

/* --- faults --- */

static void fault_line(struct config *c, unsigned line, const char *why)
{
	config_faults_add(&c->faults, SHOWN ":%u: %s", c->path, line, why);
}

void config_blame(struct config *c, const char *name, unsigned i,
		  const char *why)
{
	const struct cli_given *from;
	char text[sizeof(((struct cr_err *)0)->text)];

	if (!name) {
		config_faults_add(&c->faults, "%s", why);
		return;
	}
	from = config_given(c, name);
	(void)snprintf(text, sizeof(text), "--%s: %s", name, why);
	if (from->source == CLI_FILE && i < from->text.count)
		fault_line(c, from->line[i], text);
	else
		config_faults_add(&c->faults, "%s", text);
}

/* --- the file --- */

static int take_line(const struct cli_target *to, unsigned line,
		     const char *name, const char *value, struct cr_err *e)
{
	const struct field *rows = to->cli->opts;
	const struct field *o = field_find(rows, name);
	const struct cli_given *had = o ? &to->given[o - rows] : NULL;
	char hint[256];

	if (!strncmp(name, "--", 2) && field_find(rows, name + 2))
		return cr_fail(e, -EINVAL, "write it without dashes: %s",
			       name + 2);
	if (!o)
		return cr_fail(e, -EINVAL, "unknown option \"%.64s\"; %s", name,
			       field_hint(rows, FIELD_COMMAND_LINE, name, hint,
					  sizeof(hint)));
	if (o->flags & FIELD_COMMAND_LINE)
		return cr_fail(e, -EINVAL,
			       "%s belongs on the command line, not in a file",
			       name);
	if (had->line[0] && o->kind != FIELD_TEXTS)
		return cr_fail(e, -EINVAL,
			       "%s is given twice: before that in line %u",
			       name, had->line[0]);
	return cli_give(to, o, CLI_FILE, line, value, e);
}

static void take_config_lines(struct config *c, const struct cli_target *to,
			      size_t size)
{
	struct config_lines l = { .text = c->text, .size = size };
	struct cr_err e = { "" };
	char *name, *value;
	int got;

	while ((got = config_lines_next(&l, &name, &value, &e))) {
		if (got > 0)
			got = take_line(to, l.line, name, value, &e);
		if (got)
			fault_line(c, l.line, e.text);
	}
}

static void read_config_file(struct config *c, const struct cli_target *to,
			     const char *path, bool must)
{
	struct cr_err e = { "" };
	size_t size = 0;
	int err = config_text_read(path, &c->text, &size, &e);

	if (!must && (err == -ENOENT || err == -ENOTDIR))
		return;
	c->path = strdup(path);
	if (!c->path)
		err = cr_fail(&e, -ENOMEM, "out of memory");
	if (err)
		config_faults_add(&c->faults, SHOWN ": %s", path, e.text);
	else
		take_config_lines(c, to, size);
}

/* --- values --- */

const char *config_text(const struct config *c, const struct field *o,
			unsigned i, char *buf)
{
	const struct field_texts *text = &given_of(c, o)->text;

	if (i < text->count)
		return field_shortest(o, text->item[i], buf, CONFIG_VALUE);
	if (i || text->count || o->kind == FIELD_HEADING)
		return NULL;
	if (o->kind == FIELD_TEXT)
		return o->without && *o->without ? o->without : NULL;
	return *field_text_default(o, buf, CONFIG_VALUE) ? buf : NULL;
}

bool config_same(const struct config *a, const struct config *b,
		 const struct field *o)
{
	for (unsigned i = 0;; i++) {
		char ours[CONFIG_VALUE], other[CONFIG_VALUE];
		const char *x = config_text(a, o, i, ours);
		const char *y = config_text(b, o, i, other);

		if (!x || !y)
			return x == y;
		if (strcmp(x, y) != 0)
			return false;
	}
}

/* Read the texts, once it is known which of them count. */
static void read_texts(struct config *c, void *vars)
{
	char buf[CONFIG_VALUE];
	struct cr_err e;

	for (const struct field *o = c->cli->opts; !field_is_end(o); o++) {
		const char *text = o->read ? config_text(c, o, 0, buf) : NULL;

		if (text &&
		    o->read(text, (unsigned char *)vars + o->offset, &e))
			config_blame(c, o->name, 0, e.text);
	}
}

static void add_fault(void *arg, const char *why)
{
	config_faults_add(arg, "%s", why);
}

int config_read(struct config *c, const struct config_ask *ask)
{
	const struct cli_target to = { ask->cli, ask->vars, c->given, add_fault,
				       &c->faults };

	*c = (struct config){ .cli = ask->cli };
	field_defaults(ask->cli->opts, ask->vars);
	if (ask->path)
		read_config_file(c, &to, ask->path, ask->must);
	(void)cli_take(&to, ask->argc, ask->argv);
	read_texts(c, ask->vars);
	return c->faults.n ? -EINVAL : 0;
}

void config_free(struct config *c)
{
	free(c->path);
	free(c->text);
	*c = (struct config){ .path = NULL };
}

static bool in_file(const struct field *o)
{
	return o->kind != FIELD_HEADING && !(o->flags & FIELD_COMMAND_LINE) &&
	       o->help;
}

/* @text as a comment; '\n' in it ends a line. */
static void put_comment(FILE *out, const char *text)
{
	struct page p = { .out = out, .prefix = "#", .width = 78 };

	p.column = fprintf(out, "#");
	page_paragraphs(&p, text);
}

static void put_section(FILE *out, const struct field *o)
{
	if (!(o->flags & FIELD_COMMAND_LINE))
		(void)fprintf(out, "\n# --- %s ---\n", o->help);
}

static void put_default(FILE *out, const struct field *o)
{
	char text[256], argument[256];

	(void)field_text_default(o, text, sizeof(text));
	(void)fprintf(
		out, "#%s = %s\n", o->name,
		*text ? text
		      : field_text_argument(o, argument, sizeof(argument)));
}

static int print_value(FILE *out, const char *name, const char *value,
		       struct cr_err *e)
{
	const char *mark = config_needs_quotes(value) ? "\"" : "";

	if (!config_can_hold(value))
		return cr_fail(e, -EINVAL,
			       "--%s: its value has a control character, is no "
			       "UTF-8 or is too long: no file can have it",
			       name);
	(void)fprintf(out, "%s = %s%s%s\n", name, mark, value, mark);
	return 0;
}

static int put_row(FILE *out, const struct config *c, const struct field *o,
		   struct cr_err *e)
{
	const struct cli_given *g = given_of(c, o);
	char buf[CONFIG_VALUE];
	int err = 0;

	if (!g->text.count) {
		(void)fprintf(out, "# default\n");
		put_default(out, o);
	}
	for (unsigned i = 0; i < g->text.count && !err; i++) {
		if (g->source == CLI_COMMAND_LINE)
			(void)fprintf(out, "# command line\n");
		else
			(void)fprintf(out, "# %s:%u\n", c->path, g->line[i]);
		err = print_value(out, o->name, config_text(c, o, i, buf), e);
	}
	return err;
}

int config_print(const struct config *c, FILE *out, struct cr_err *e)
{
	int err = 0;

	(void)fprintf(out, "# Options of %s(1), and where each is from.\n",
		      c->cli->program);
	for (const struct field *o = c->cli->opts; !err && !field_is_end(o);
	     o++) {
		if (o->kind == FIELD_HEADING)
			put_section(out, o);
		else if (in_file(o))
			err = put_row(out, c, o, e);
	}
	return err;
}

void config_print_example(const struct cli *cli, FILE *out)
{
	char text[1024];

	(void)snprintf(
		text, sizeof(text),
		"Options of %s(1), one a line: name = value. The values are "
		"the defaults, or a word for the kind of value where there is "
		"none.\nThe command line replaces these values. %s "
		"--check-config prints errors, %s --dump-config the effective "
		"options and their origins. See %s.conf(5).",
		cli->program, cli->program, cli->program, cli->program);
	put_comment(out, text);
	for (const struct field *o = cli->opts; !field_is_end(o); o++) {
		if (o->kind == FIELD_HEADING)
			put_section(out, o);
		if (!in_file(o))
			continue;
		(void)snprintf(text, sizeof(text), "%s%s", o->help,
			       o->flags & FIELD_LIVE
				       ? "\nSIGHUP takes a new value."
				       : "");
		(void)fprintf(out, "\n");
		put_comment(out, text);
		put_default(out, o);
	}
}

static void put_format(struct page *p)
{
	char text[512];

	(void)fprintf(p->out, ".SH FORMAT\n.PP\n.nf\n.RS\n"
			      "# a comment\n"
			      "name = value\n"
			      "name = \"value\"\n"
			      ".RE\n.fi\n");
	page_paragraphs(p,
			"Names are those of the options without the dashes, "
			"in full. Flags are yes or no: no-admission = yes. "
			"Options that may be given several times have a line "
			"for each value; others have one.");
	page_paragraphs(
		p, "A comment is a line of its own, so values may have a "
		   "\"#\". Blanks at the ends of a value are ignored, unless "
		   "it is in quotation marks, which keep all characters.");
	(void)snprintf(
		text, sizeof(text),
		"The text is UTF-8, with or without a byte order mark; "
		"lines end with LF or CR LF and have up to %u bytes, the "
		"file up to %zu. It has to be a file: no folder, no "
		"FIFO, no device.",
		CONFIG_LINE, CONFIG_BYTES);
	page_paragraphs(p, text);
	page_paragraphs(p, "The command line replaces the file's values, "
			   "and all of them for an option that may be given "
			   "several times. There --NAME=no unsets a flag.");
	page_paragraphs(
		p,
		"If anything is wrong, nothing of the file is used: each error "
		"is printed with its line, and the program ends with 2.");
}

static void put_file_options(const struct cli *cli, struct page *p)
{
	page_section(p, "Options");
	page_paragraphs(p, "(SIGHUP) marks options whose new values take "
			   "effect while the program runs.");
	for (const struct field *o = cli->opts; !field_is_end(o); o++) {
		if (!o->help || o->flags & FIELD_COMMAND_LINE)
			continue;
		if (o->kind != FIELD_HEADING) {
			page_option(p, o, true);
			continue;
		}
		page_group(p, o->help);
	}
}

static void put_live_options(const struct cli *cli, struct page *p)
{
	const char *before = "";

	page_section(p, "Reading again");
	page_paragraphs(
		p, "SIGHUP reads the file again. If anything is wrong with "
		   "it, the log has the errors, and nothing changes. "
		   "Otherwise these options take their new values:");
	(void)fprintf(p->out, ".PP\n");
	for (const struct field *o = cli->opts; !field_is_end(o); o++) {
		if (!(o->flags & FIELD_LIVE))
			continue;
		(void)fputs(before, p->out);
		page_text(p, o->name);
		before = ",\n";
	}
	(void)fprintf(p->out, ".\n");
	page_paragraphs(
		p,
		"All others need a restart, as the log says while the file and "
		"the running program differ. Values of the command line stay.");
}

void config_print_page(const struct cli *cli, const char *path, FILE *out)
{
	struct page p = { .out = out, .man = true };
	char summary[128];

	(void)snprintf(summary, sizeof(summary), "options of %s(1) in a file",
		       cli->program);
	page_title(&p, cli->program, ".conf", '5', "File Formats", summary);
	page_section(&p, "Description");
	page_paragraphs(
		&p, "The program reads this file at its start, if it exists; "
		    "--config names another one, which must exist, or none. "
		    "--check-config prints its errors, --dump-config the "
		    "effective options and the origin of each.");
	put_format(&p);
	put_file_options(cli, &p);
	put_live_options(cli, &p);
	(void)fprintf(out, ".SH FILES\n.TP\n.B ");
	page_text(&p, path);
	(void)fprintf(out, "\nIt is read unless --config is given.\n");
	(void)fprintf(out, ".SH SEE ALSO\n");
	page_text(&p, cli->program);
	(void)fprintf(out, "(1)\n");
}
