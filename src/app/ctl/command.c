/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec-ctl's commands. A method of the protocol is a command by its tables:
 * its words are the parts of its name; what it requires stands in order; all
 * else is KEY=VALUE ("out.codec=amr"; the tables say which members are text
 * even when they look like numbers). A row here adds what the tables do not
 * have: which parameters stand in order though they may be missing, columns,
 * a text for people. The meaning of methods is the daemon's matter. Pure.
 */
#include "app/ctl/ctl.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "base/field.h"
#include "base/nearest.h"
#include "base/units.h"
#include "protocol/tables/call_fields.h"
#include "protocol/tables/node_fields.h"

enum { KEY_MAX = 256, PLACES_MAX = 4, COMMANDS_MAX = 96, LINE = 200 };

/* --- rows --- */

struct command_row {
	const char *method; /* of the protocol, or one of those below */
	const char *words;  /* NULL: those of the method's name */
	const char *brief;  /* a shorter name for the same */
	const char *takes;  /* parameters in order, though they may be
			     * missing; NULL: those that are required */
	const char *view;   /* see ctl_view(); NULL: ctl_show() */
	const char *columns;
	const char *help; /* sentences; NULL: the method's */
	enum ctl_action action;
};

#define SCHEDULER_VIEW                                                         \
	"{name:12} {help}\n[options*             {help}\n]"                    \
	"[admission?             admits by: {admission}\n]"

#define STREAM_VIEW                                                            \
	"stream       {stream} of call {call}, {class}, {transcoding}, up "    \
	"{age}\n"                                                              \
	"in           {in.codec} {in.mode}, PT {in.pt}, SSRC {ssrc}, at "      \
	"{rtp}\n"                                                              \
	"out          {out.codec} {out.mode}, PT {out.pt}, SSRC {out_ssrc}, "  \
	"to "                                                                  \
	"{to}\n"                                                               \
	"contract     [contract.rate?rate {contract.rate}, ]"                  \
	"[contract.burst?burst {contract.burst}, ]"                            \
	"[contract.peak?peak {contract.peak}, ]"                               \
	"[contract.mean?mean {contract.mean}, ]"                               \
	"[contract.p99?p99 {contract.p99}, ]"                                  \
	"[contract.worst?worst {contract.worst}, ]"                            \
	"{count.violations} beyond it\n"                                       \
	"admitted     {admitted.load}, {admitted.cost} a frame, deadline "     \
	"{deadline}[max_age?, max-age {max_age}], weight {weight}, nice "      \
	"{nice}\n"                                                             \
	"frames       {count.done#} done, {count.late#} late, "                \
	"{count.packets_in} in, {count.packets_out} out\n"                     \
	"lost         {lost#}: {count.overwritten#} overwritten, "             \
	"{count.expired#} expired, {count.shed#} shed ({count.pauses#} of "    \
	"them pauses), {count.concealed#} concealed\n"                         \
	"other        {count.malformed#} malformed, {count.cancelled#} "       \
	"cancelled, {count.missing#} missing, {count.send_failed#} not sent\n" \
	"times        {count.codec_ns/count.done} a frame in the codecs, "     \
	"{count.delay_max_ns} the longest delay\n"                             \
	"[rtcp?rtcp in      {rtcp.received#} received, {rtcp.lost#} lost, "    \
	"jitter {rtcp.jitter}\n]"                                              \
	"[rtcp.far.reports?rtcp out     {rtcp.far.lost_mean} lost, jitter "    \
	"{rtcp.far.jitter}, round trip {rtcp.far.rtt_mean}, by "               \
	"{rtcp.far.reports} reports\n]"                                        \
	"[!rtcp.far.reports?rtcp out     no report yet\n]"                     \
	"waiting      {waiting}\n"                                             \
	"[bound?bound        late by {bound.lateness}, play-out buffer "       \
	"{bound.buffer}\n             {bound.rule}\n]"                         \
	"[!bound?bound        none: {bound_why}\n]"                            \
	"scheduler    {scheduler}\n"                                           \
	"[policy*  {name:19} {value}\n]"                                       \
	"[!policy?  has no numbers of its own for a stream\n]"

static const struct command_row rows[] = {
	{ .method = "schedulers",
	  .view = "in use: {scheduler}\n\n[schedulers*" SCHEDULER_VIEW "]" },
	{ .method = "schedulers",
	  .words = "scheduler",
	  .view = "scheduler: {scheduler}\n"
		  "[schedulers*[in_use?" SCHEDULER_VIEW "]]",
	  .help = "Show the scheduler in use, and its options." },
	{ .method = "scheduler.set", .brief = "scheduler" },
	{ .method = "scheduler.tune", .brief = "tune" },
	{ .method = "call.start",
	  .help = "Start a call, and print where to send. One stream: "
		  "in.codec=pcmu out.codec=amr out.address=192.0.2.7:4000. "
		  "Two parties, with speech both ways: a.codec=pcmu "
		  "b.codec=amr b.address=192.0.2.7:4000; or a.endpoint=7, an "
		  "open one." },
	{ .method = "call.change",
	  .brief = "change",
	  .view = "[streams*" STREAM_VIEW "]",
	  .help = "Change a running call. If its codecs or terms change, it "
		  "has to pass the admission test again; if it is refused, "
		  "nothing has changed. No frame is lost. null takes a member "
		  "back: contract.worst=null." },
	{ .method = "call.query",
	  .words = "call",
	  .view = "[streams*" STREAM_VIEW "]",
	  .help = "Show a call's streams to people, as stream does." },
	{ .method = "call.list",
	  .columns = "call label relay a.stream a.rtp a.to b.stream b.rtp "
		     "b.to" },
	{ .method = "stream.change", .view = STREAM_VIEW },
	{ .method = "stream.query",
	  .words = "stream",
	  .view = STREAM_VIEW,
	  .help = "Show one stream to people: its parameters, its losses, and "
		  "the scheduler's numbers about it." },
	{ .method = "stream.list",
	  .brief = "list",
	  .columns = "stream call in.codec in.mode out.codec out.mode class "
		     "age rtp "
		     "to count.packets_in count.packets_out lost "
		     "count.expired count.shed count.late" },
	{ .method = "stream.top", .columns = CTL_TOP_COLUMNS },
	{ .method = "endpoint.list",
	  .columns = "endpoint call codec mode rtp to hold packets "
		     "wrong_source wrong_ssrc address_changes unknown" },
	{ .method = "convert.start",
	  .brief = "convert",
	  .action = CTL_FOLLOW,
	  .help = "Convert a file of the server's spool folder. Names are "
		  "relative to that folder, and their endings (.wav, .amr, "
		  ".awb) say what the files are. codec-ctl shows the progress "
		  "and waits for the end; if you interrupt it, the conversion "
		  "is cancelled." },
	{ .method = "convert.list",
	  .columns = "conversion state in out from to frames progress age "
		     "running why" },
	{ .method = "upgrade",
	  .takes = "program",
	  .help = "Start PROGRAM, or what is now at the path of the program "
		  "that runs, and have it take over all calls and addresses "
		  "while they go on. If it cannot, the old process goes on, "
		  "and codec-ctl says why." },
	{ .method = "drain",
	  .takes = "limit",
	  .help = "Accept no new calls, and exit when the last one has ended; "
		  "calls that last longer than LIMIT are ended. With --undo, "
		  "as drain cancel: take that back." },
	{ .method = "takeover", .takes = "node" },
	{ .method = "call.move", .action = CTL_MOVE },
	{ .method = "watch", .takes = "interval times", .action = CTL_WATCH },
	{ .method = "top", .takes = "interval times", .action = CTL_TOP },
	{ .method = "raw", .takes = "request params", .action = CTL_RAW },
	{ .method = "help", .takes = "method word", .action = CTL_HELP },
	{ .method = "reference", .takes = "records", .action = CTL_REFERENCE },
};

/* Commands that are no methods: only words are read by these. */
#define WORD(n, h) .name = (n), .kind = FIELD_TEXT, .help = (h)
#define INTERVAL                                                               \
	.name = "interval", .kind = FIELD_TIME, .unit = "s",                   \
	.max = 3600 * CR_SEC, .dflt = CR_SEC,                                  \
	.help = "time from one page to the next"
#define TIMES                                                                  \
	.name = "times", .kind = FIELD_INT, .min = 1, .max = UINT32_MAX,       \
	.without = "until it is interrupted", .help = "number of pages"

/* stream.top looks little more often than top may. */
static const struct field watch_words[] = { { INTERVAL, .min = 10 * CR_MS },
					    { TIMES },
					    { 0 } };
static const struct field top_words[] = { { INTERVAL, .min = 500 * CR_MS },
					  { TIMES },
					  { 0 } };
static const struct field move_words[] = {
	{ .name = "call",
	  .kind = FIELD_INT,
	  .min = 1,
	  .max = UINT32_MAX,
	  .required = "which call?",
	  .help = "id of the call" },
	{ WORD("node", "address of the other node's control, as for --to"),
	  .required = "where to?" },
	{ 0 },
};
static const struct field raw_words[] = {
	{ WORD("request", "a request as a JSON object, or a method's name"),
	  .required = "" },
	{ WORD("params", "the method's parameters as JSON") },
	{ 0 },
};
static const struct field help_words[] = {
	{ WORD("method", "a method, a notification or a command") },
	{ WORD("word", "the second word of a command") },
	{ 0 },
};
static const struct field reference_words[] = {
	{ WORD("records", "the word records: a JSON Schema of these") },
	{ 0 },
};

static const struct method own_methods[] = {
	{ "call.move",
	  "have another node go on with a call, at new ports: call.export "
	  "here, call.take and call.keep there, call.moved here. It prints the "
	  "call as it is there, with the addresses that its parties have to be "
	  "told. Both nodes have the same key, and copy or hold the state of "
	  "calls. If "
	  "the other one refuses, the call stays here; what was cut off can be "
	  "repeated",
	  move_words, call_info_fields },
	{ "watch",
	  "show a table of rates, every second or INTERVAL, until you "
	  "interrupt it or TIMES times: totals, the workers' load, streams "
	  "by class and codecs, and the streams that lose most frames. With "
	  "--json it prints lines of JSON",
	  watch_words, nothing_fields },
	{ "top",
	  "show the streams that stand out, every second or INTERVAL, until "
	  "you interrupt it or TIMES times: frames lost, packets missing, "
	  "workers' "
	  "time and delay of each in that time. --sort or the keys l, m, c and "
	  "d set the order; q quits. --once shows one page; with --json a page "
	  "is a line of JSON, the result of stream.top. The server chooses the "
	  "streams, however many there are",
	  top_words, nothing_fields },
	{ "raw",
	  "send a JSON-RPC request object, or a method and its parameters as "
	  "JSON",
	  raw_words, nothing_fields },
	{ "help",
	  "list the methods, or the parameters and the result of one. It needs "
	  "no server. \"codec-ctl COMMAND --help\" does the same",
	  help_words, nothing_fields },
	{ "reference",
	  "print the reference of the protocol in Markdown: the second part "
	  "of docs/protocol-reference.md; or the JSON Schema of the lines of "
	  "codec-runner --records: docs/records.schema.json",
	  reference_words, nothing_fields },
	{ 0 },
};

/* --- all commands --- */

/* A command as its row and its method's tables make it. */
struct ctl_command {
	const struct command_row *row;
	const struct method *method;
	char words[40];
	char usage[LINE], help[LINE * 4];
	const struct field *place[PLACES_MAX]; /* words in order */
	unsigned nplaces, least;
	bool keys;   /* KEY=VALUE behind them ... */
	bool needed; /* ... one at least          */
	bool joined; /* further words are the last one's, with commas between */
};

static struct ctl_command all[COMMANDS_MAX];
static unsigned nall;

static void add_required(struct ctl_command *c, const struct field *table,
			 bool inner)
{
	for (const struct field *f = table; f->name; f++) {
		if (f->kind == FIELD_INLINE || f->kind == FIELD_OBJECT)
			add_required(c, f->members,
				     inner || f->kind == FIELD_OBJECT);
		else if (f->required && inner)
			c->needed = true;
		else if (f->required && c->nplaces < PLACES_MAX)
			c->place[c->nplaces++] = f;
	}
	c->least = c->nplaces;
}

static void add_places(struct ctl_command *c)
{
	const struct field *table = c->method->params, *f;
	const char *names = c->row->takes ? c->row->takes : "";
	unsigned members = 0;

	for (f = table; f->name; f++)
		members++;
	if (!*names)
		add_required(c, table, false);
	while (*names) {
		char name[FIELD_NAME_MAX];

		(void)snprintf(name, sizeof(name), "%.*s",
			       (int)strcspn(names, " "), names);
		names += strlen(name);
		names += *names == ' ';
		f = field_find(table, name);
		CR_ASSERT(f && c->nplaces < PLACES_MAX);
		c->place[c->nplaces++] = f;
		c->least += f->required != NULL;
	}
	c->keys = members > c->nplaces;
	c->joined = !c->keys && c->least == 1 && c->nplaces == 1 &&
		    c->place[0]->kind == FIELD_TEXT;
}

/* "ID", "[INTERVAL [TIMES]]", "IN OUT [KEY=VALUE...]" */
static void describe_usage(struct ctl_command *c)
{
	FILE *out = fmemopen(c->usage, sizeof(c->usage), "w");

	for (unsigned i = 0; out && i < c->nplaces; i++) {
		const struct field *f = c->place[i];
		char name[FIELD_NAME_MAX];

		(void)field_text_label(f, f->name, name, sizeof(name));
		(void)fprintf(out, " %s%s%s", i < c->least ? "" : "[",
			      f->required && f->kind == FIELD_INT ? "ID" : name,
			      c->joined ? "[,KEY=VALUE...]" : "");
	}
	for (unsigned i = c->least; out && i < c->nplaces; i++)
		(void)fputc(']', out);
	if (out && c->keys)
		(void)fputs(c->needed ? " KEY=VALUE..." : " [KEY=VALUE...]",
			    out);
	if (out)
		(void)fclose(out);
}

/* @help: NULL: the method's, as a sentence. */
static void add_command(const struct command_row *row, const struct method *m,
			const char *words, const char *help)
{
	struct ctl_command *c = &all[nall++];
	char *dot;

	CR_ASSERT(nall <= COMMANDS_MAX);
	*c = (struct ctl_command){ .row = row, .method = m };
	(void)snprintf(c->words, sizeof(c->words), "%s", words);
	(void)snprintf(c->help, sizeof(c->help), help ? "%s" : "%s.",
		       help ? help : m->help);
	if (!help)
		c->help[0] = (char)toupper((unsigned char)c->help[0]);
	dot = strchr(c->words, '.');
	if (dot)
		*dot = ' ';
	add_places(c);
	describe_usage(c);
}

static void add_method(const struct method *m)
{
	static const struct command_row none;
	const struct command_row *own = &none;
	char help[60];

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (strcmp(rows[i].method, m->name) != 0)
			continue;
		if (rows[i].words)
			add_command(&rows[i], m, rows[i].words, rows[i].help);
		else
			own = &rows[i];
	}
	add_command(own, m, m->name, own->help);
	if (!own->brief)
		return;
	(void)snprintf(help, sizeof(help), "Short for %s.",
		       all[nall - 1].words);
	add_command(own, m, own->brief, help);
}

/* Each method's; "bye" is how each command ends. */
static void know_commands(void)
{
	if (nall)
		return;
	for (const struct method *m = methods; m->name; m++)
		if (strcmp(m->name, "bye") != 0)
			add_method(m);
	for (const struct method *m = own_methods; m->name; m++)
		add_method(m);
}

const struct cli_line *ctl_commands(void)
{
	static struct cli_line lines[COMMANDS_MAX + 1];
	static char left[COMMANDS_MAX][LINE + 40];

	know_commands();
	for (unsigned i = 0; i < nall; i++) {
		(void)snprintf(left[i], sizeof(left[i]), "%s%s", all[i].words,
			       all[i].usage);
		lines[i] = (struct cli_line){ left[i], all[i].help };
	}
	return lines;
}

static bool do_fit(const struct ctl_command *c, unsigned n)
{
	return n >= c->least + c->needed &&
	       (n <= c->nplaces || c->keys || c->joined);
}

/* --- which command words name --- */

/* Does @word begin the names of commands of two words? */
static bool is_group(const char *word)
{
	size_t n = strlen(word);

	for (unsigned i = 0; i < nall; i++)
		if (!strncmp(all[i].words, word, n) && all[i].words[n] == ' ')
			return true;
	return false;
}

static int refuse_command(const char *const *words, unsigned n,
			  struct cr_err *e)
{
	const char *names[COMMANDS_MAX + 1] = { NULL };
	bool two = n > 1 && is_group(words[0]);
	char said[128], hint[900];

	for (unsigned i = 0; i < nall; i++)
		names[i] = all[i].words;
	(void)snprintf(said, sizeof(said), "%s%s%s", words[0], two ? " " : "",
		       two ? words[1] : "");
	return cr_fail(e, -EINVAL, "unknown command '%.100s'; %s", said,
		       nearest_hint(said, names, hint, sizeof(hint)));
}

/* The command that @words begin with ("call start", or call.start as one), and
 * in @own how many of them name it. Of two of a name, the one that takes the
 * rest. NULL: there is none; "call 7" shows a call, "call stpo" is a slip. */
static const struct ctl_command *find_command(const char *const *words,
					      unsigned n, unsigned *own)
{
	const struct ctl_command *found = NULL;
	char one[128], two[128];

	(void)snprintf(one, sizeof(one), "%s", words[0]);
	(void)snprintf(two, sizeof(two), "%s %s", words[0],
		       n > 1 ? words[1] : "");
	if (strchr(one, '.'))
		*strchr(one, '.') = ' ';
	*own = 0;
	for (const struct ctl_command *c = all; c < all + nall; c++) {
		unsigned of = !strcmp(c->words, two)   ? 2
			      : !strcmp(c->words, one) ? 1
						       : 0;

		if (!of || of < *own ||
		    (found && of == *own && !do_fit(c, n - of)))
			continue;
		found = c;
		*own = of;
	}
	if (found && *own == 1 && n > 1 && is_group(words[0]) &&
	    found->nplaces && found->place[0]->kind == FIELD_INT &&
	    !isdigit((unsigned char)words[1][0]))
		return NULL;
	return found;
}

/* --- words as JSON --- */

/* NULL: it looks like JSON and is none. A quantity is text by the name without
 * a unit; what no row is known of is what it looks like. */
static json_t *value_of_word(const struct field *f, const char *key,
			     const char *text)
{
	const char *dot = strrchr(key, '.');
	json_t *v;

	if (!strcmp(text, "null"))
		return json_null();
	if (f && (field_has_unit(f) ? !strcmp(f->name, dot ? dot + 1 : key)
				    : f->kind == FIELD_CHOICE ||
					      (f->kind >= FIELD_TEXT &&
					       f->kind <= FIELD_ADDRESS)))
		return json_string(text);
	if (!strcmp(text, "yes") || !strcmp(text, "no"))
		return json_boolean(text[0] == 'y');
	v = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
	if (!v && text[0] != '{' && text[0] != '[')
		v = json_string(text);
	return v;
}

/* Put @v (taken over) at the dotted @path, which is written to. */
static int put_member(json_t *object, char *path, json_t *v, const char *word,
		      struct cr_err *e)
{
	const char *why = NULL;
	char *dot;

	for (; (dot = strchr(path, '.')); path = dot + 1) {
		json_t *inner;

		*dot = '\0';
		inner = json_object_get(object, path);
		if (!inner) {
			inner = json_object();
			(void)json_object_set_new(object, path, inner);
		}
		object = inner;
	}
	if (!json_is_object(object))
		why = "what is before the dot has a value";
	else if (!*path)
		why = "a member without a name";
	else if (json_object_get(object, path))
		why = "given twice";
	else
		return json_object_set_new(object, path, v) ? -ENOMEM : 0;
	json_decref(v);
	return cr_fail(e, -EINVAL, "%s: %s", word, why);
}

/* KEY=VALUE, or the name of what is yes or no. */
static int put_command_word(json_t *object, const char *word,
			    const struct method *m, struct cr_err *e)
{
	size_t length = strcspn(word, "=");
	const struct field *f;
	char key[KEY_MAX];
	json_t *v;

	(void)snprintf(key, sizeof(key), "%.*s", (int)length, word);
	f = *key ? field_find_path(m->params, key) : NULL;
	if (!length || length >= sizeof(key) ||
	    (!word[length] && !(f && f->kind == FIELD_BOOL)))
		return cr_fail(e, -EINVAL,
			       "%.100s: should be KEY=VALUE; \"codec-ctl help "
			       "%s\" lists the keys",
			       word, m->name);
	v = word[length] ? value_of_word(f, key, word + length + 1)
			 : json_true();
	if (!v)
		return cr_fail(e, -EINVAL, "%.100s: the value is not JSON",
			       word);
	return put_member(object, key, v, word, e);
}

/* Can @word be what stands in this place? */
static int check_place(const struct ctl_command *c, const struct field *f,
		       const char *word, struct cr_err *e)
{
	struct cr_err why;
	int64_t v;

	if ((f->kind != FIELD_TIME && f->kind != FIELD_INT) ||
	    !field_parse(f, word, &v, &why))
		return 0;
	return cr_fail(e, -EINVAL, "%s: %.400s", c->words, why.text);
}

/* A call that is started has to outlive us, so it is kept unless the words say
 * otherwise. */
static int put_words(const struct ctl_command *c, const char *const *words,
		     unsigned n, json_t *params, struct cr_err *e)
{
	const struct field *keep = field_find(c->method->params, "keep");
	int rc = 0;

	for (unsigned i = 0; !rc && i < n; i++) {
		const struct field *f = c->place[i < c->nplaces ? i : 0];

		if (i < c->nplaces) {
			rc = check_place(c, f, words[i], e);
			(void)json_object_set_new(
				params, f->name,
				value_of_word(f, f->name, words[i]));
		} else if (c->joined) {
			(void)json_object_set_new(
				params, f->name,
				json_sprintf("%s,%s", ctl_text(params, f->name),
					     words[i]));
		} else {
			rc = put_command_word(params, words[i], c->method, e);
		}
	}
	if (!rc && keep && keep->kind == FIELD_BOOL &&
	    !json_object_get(params, "keep"))
		(void)json_object_set_new(params, "keep", json_true());
	return rc;
}

/* --- the commands that are no methods --- */

/* A whole request object, or a method and its parameters. */
static int read_raw(struct ctl_request *r, struct cr_err *e)
{
	json_t *words = r->params, *o = NULL;
	const char *name = ctl_text(words, "request");
	const char *params =
		json_string_value(json_object_get(words, "params"));
	json_error_t error;

	if (params || *name == '{') {
		o = json_loads(params ? params : name, JSON_REJECT_DUPLICATES,
			       &error);
		if (!o)
			return cr_fail(e, -EINVAL, "raw: column %d: %s",
				       error.column, error.text);
	}
	r->params = json_incref(params ? o : json_object_get(o, "params"));
	if (o && !params)
		name = json_string_value(json_object_get(o, "method"));
	(void)snprintf(r->name, sizeof(r->name), "%s", name ? name : "");
	r->method = method_find(r->name);
	json_decref(o);
	json_decref(words);
	return *r->name ? 0
			: cr_fail(e, -EINVAL,
				  "raw: the object has no \"method\"");
}

/* A notification, or a command's method. */
static int find_meant(struct ctl_request *r, const char *const *words,
		      unsigned n, struct cr_err *e)
{
	const struct ctl_command *c;
	unsigned own;

	r->method = n ? method_find(words[0]) : NULL;
	for (const struct method *m = notifications; n && m->name; m++)
		if (!strcmp(m->name, words[0]))
			r->method = m;
	c = n && !r->method ? find_command(words, n, &own) : NULL;
	if (c)
		r->method = c->method;
	return n && !r->method ? refuse_command(words, n, e) : 0;
}

/* Read the words of an own method. */
static int read_own(struct ctl_request *r, const char *const *words, unsigned n,
		    struct cr_err *e)
{
	switch (r->action) {
	case CTL_WATCH:
	case CTL_TOP:
		r->interval = CR_SEC;
		(void)units_parse_time(ctl_text(r->params, "interval"),
				       &r->interval);
		r->times = (unsigned)ctl_real(r->params, "times");
		return 0;
	case CTL_RAW:
		return read_raw(r, e);
	case CTL_HELP:
		return find_meant(r, words, n, e);
	case CTL_REFERENCE:
		r->action = n ? CTL_SCHEMA : CTL_REFERENCE;
		if (n && strcmp(words[0], "records") != 0)
			return cr_fail(e, -EINVAL,
				       "there is a reference of the protocol, "
				       "and one of \"records\"; none of \"%s\"",
				       words[0]);
		return 0;
	default:
		return 0;
	}
}

int ctl_request(struct ctl_request *r, const char *const *words, unsigned n,
		struct cr_err *e)
{
	const struct ctl_command *c;
	unsigned own;
	bool asks;
	int rc;

	know_commands();
	c = find_command(words, n, &own);
	if (!c)
		return refuse_command(words, n, e);
	words += own;
	n -= own;
	if (!do_fit(c, n))
		return cr_fail(e, -EINVAL, "usage: codec-ctl %s%s", c->words,
			       c->usage);
	*r = (struct ctl_request){ .action = c->row->action,
				   .command = c,
				   .method = c->method,
				   .params = json_object() };
	(void)snprintf(r->name, sizeof(r->name), "%s", r->method->name);
	rc = put_words(c, words, n, r->params, e);
	if (!rc)
		rc = read_own(r, words, n, e);
	asks = r->action <= CTL_RAW; /* else the words have done their work */
	if (rc || !asks ||
	    (json_is_object(r->params) && !json_object_size(r->params))) {
		json_decref(r->params);
		r->params = NULL;
	}
	return rc;
}

void ctl_print(const struct ctl_request *r, const json_t *result, FILE *out)
{
	const struct field *table = r->method ? r->method->result : NULL;
	const struct ctl_shown s = {
		.table = table,
		.now = result,
		.clock = json_integer_value(json_object_get(result, "now_ns")),
	};

	if (r->command->row->view)
		ctl_view(r->command->row->view, &s, out);
	else
		ctl_show(result, table, r->command->row->columns, out);
}

bool ctl_print_own(const struct ctl_request *r, FILE *out)
{
	if (r->action == CTL_HELP)
		ctl_help(r->method, out);
	else if (r->action == CTL_REFERENCE)
		ctl_reference(out);
	else if (r->action == CTL_SCHEMA)
		ctl_reference_records(out);
	else
		return false;
	return true;
}
