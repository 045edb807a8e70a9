/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversions that must not be: names that leave the spool, files that are
 * missing, broken, huge or no files, options that mean nothing, too many at a
 * time. Each has its code and says the way out; nothing is left behind.
 */
#include "cmocka_cr.h"
#include "desk.h"
#include "spool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static void furnish(struct test_spool *sp)
{
	static const uint8_t stereo[] = "RIFF\0\0\0\0WAVEfmt \x10\0\0\0\1\0\2\0"
					"\x40\x1f\0\0\0\x7d\0\0\4\0\x10\0"
					"data\4\0\0\0\0\0\0";

	test_spool_wav(sp, "a.wav", 8000, 1600, 1);
	test_spool_wav(sp, "cd.wav", 44100, 1600, 1);
	test_spool_wav(sp, "void.wav", 8000, 0, 1);
	test_spool_write(sp, "empty.wav", "", 0);
	test_spool_write(sp, "stereo.wav", stereo, sizeof(stereo) - 1);
	test_spool_write(sp, "text.wav", "hello", 5);
	test_spool_write(sp, "text.amr", "#!AMX\nhello", 11);
	test_spool_write(sp, "wide.amr", "#!AMR-WB\n\x7c", 10);
	test_spool_write(sp, "many.amr", "#!AMR_MC1.0\n\0\0\0\2", 16);
	test_spool_write(sp, "notes.txt", "hello", 5);
	test_spool_wav(sp, "huge.wav", 8000, 1600, 1);
	assert_int_equal(
		truncate(test_spool_path(sp, "huge.wav"), (64 << 20) + 1), 0);
	test_spool_wav(sp, "cut.wav", 8000, 1600, 1);
	assert_int_equal(truncate(test_spool_path(sp, "cut.wav"), 1000), 0);
	assert_int_equal(mkdir(test_spool_path(sp, "sub"), 0777), 0);
	assert_int_equal(mkdir(test_spool_path(sp, "dir.wav"), 0777), 0);
	assert_int_equal(mkfifo(test_spool_path(sp, "pipe.wav"), 0777), 0);
	assert_int_equal(symlink("a.wav", test_spool_path(sp, "link.wav")), 0);
	assert_int_equal(symlink("/etc", test_spool_path(sp, "etc")), 0);
	assert_int_equal(symlink("/tmp/x.amr", test_spool_path(sp, "l.amr")),
			 0);
}

/* Ten letters of two octets each. */
#define U10 "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"

static const struct {
	const char *params;
	int code;
	const char *why;
} bad[] = {
	{ NULL, RPC_INVALID_PARAMS, "in: is missing" },
	{ "{'in': 'a.wav'}", RPC_INVALID_PARAMS, "out: is missing" },
	{ "{'in': 7, 'out': 'a.amr'}", RPC_INVALID_PARAMS, "string" },
	{ "{'in': 'a.wav', 'out': 'a.amr', 'modee': 1}", RPC_INVALID_PARAMS,
	  "did you mean 'mode'" },
	{ "{'in': 'a.wav', 'out': 'a.amr', 'mode': '12.3'}", RPC_INVALID_PARAMS,
	  "12.2" },
	{ "{'in': 'a.wav', 'out': 'b.wav', 'mode': '12.2'}", RPC_INVALID_PARAMS,
	  "WAV output has none" },
	{ "{'in': 'a.wav', 'out': 'a.amr', 'rate': 8000}", RPC_INVALID_PARAMS,
	  "WAV output only" },
	{ "{'in': 'a.wav', 'out': 'b.wav', 'rate': 9000}", RPC_INVALID_PARAMS,
	  "8000 or 16000" },
	/* ways out of the folder */
	{ "{'in': '../a.wav', 'out': 'a.amr'}", RPC_INVALID_PARAMS,
	  "begins with a dot" },
	{ "{'in': 'sub/../../a.wav', 'out': 'a.amr'}", RPC_INVALID_PARAMS,
	  "begins with a dot" },
	{ "{'in': 'a.wav', 'out': '../a.amr'}", RPC_INVALID_PARAMS,
	  "begins with a dot" },
	{ "{'in': '/etc/a.wav', 'out': 'a.amr'}", RPC_INVALID_PARAMS,
	  "absolute" },
	{ "{'in': 'a.wav', 'out': '/tmp/a.amr'}", RPC_INVALID_PARAMS,
	  "absolute" },
	{ "{'in': 'sub//a.wav', 'out': 'a.amr'}", RPC_INVALID_PARAMS,
	  "empty part" },
	{ "{'in': 'a.wav', 'out': '\\u001b]0;x\\u0007.amr'}",
	  RPC_INVALID_PARAMS, "is not shown" },
	{ "{'in': 'a.wav', 'out': 'a\\nb.amr'}", RPC_INVALID_PARAMS,
	  "ends a line" },
	{ "{'in': 'a.wav', 'out': 'a\\u200fb.amr'}", RPC_INVALID_PARAMS,
	  "turns the writing" },
	/* cut short, this would be no UTF-8 and no reason at all */
	{ "{'in': 'a" U10 U10 U10 U10 U10 U10 "', 'out': 'a.amr'}",
	  RPC_INVALID_PARAMS, "must end in" },
	{ "{'in': '.codec-runner-convert-1', 'out': 'a.amr'}",
	  RPC_INVALID_PARAMS, "must end in" },
	{ "{'in': 'link.wav', 'out': 'a.amr'}", RPC_BAD_FILE,
	  "symbolic links are not followed" },
	{ "{'in': 'etc/a.wav', 'out': 'a.amr'}", RPC_BAD_FILE,
	  "symbolic links are not followed" },
	{ "{'in': 'a.wav', 'out': 'etc/a.amr'}", RPC_BAD_FILE,
	  "symbolic links are not followed" },
	{ "{'in': 'a.wav', 'out': 'l.amr', 'overwrite': true}",
	  RPC_INVALID_PARAMS, "not a regular file" },
	/* files that are none, or not what they say */
	{ "{'in': 'none.wav', 'out': 'a.amr'}", RPC_BAD_FILE, "No such file" },
	{ "{'in': 'no/a.wav', 'out': 'a.amr'}", RPC_BAD_FILE, "No such file" },
	{ "{'in': 'a.wav', 'out': 'no/a.amr'}", RPC_BAD_FILE, "No such file" },
	{ "{'in': 'a.wav/b.wav', 'out': 'a.amr'}", RPC_BAD_FILE, "no folder" },
	{ "{'in': 'dir.wav', 'out': 'a.amr'}", RPC_INVALID_PARAMS,
	  "not a regular file" },
	{ "{'in': 'pipe.wav', 'out': 'a.amr'}", RPC_INVALID_PARAMS,
	  "not a regular file" },
	{ "{'in': 'empty.wav', 'out': 'a.amr'}", RPC_INVALID_PARAMS,
	  "is empty" },
	{ "{'in': 'void.wav', 'out': 'a.amr'}", RPC_INVALID_PARAMS,
	  "no speech" },
	{ "{'in': 'huge.wav', 'out': 'a.amr'}", RPC_BAD_FILE,
	  "--convert-max-mib" },
	{ "{'in': 'cut.wav', 'out': 'a.amr'}", RPC_INVALID_PARAMS, "cut off" },
	{ "{'in': 'stereo.wav', 'out': 'a.amr'}", RPC_INVALID_PARAMS, "mono" },
	{ "{'in': 'cd.wav', 'out': 'a.amr'}", RPC_INVALID_PARAMS,
	  "resample it first" },
	{ "{'in': 'text.wav', 'out': 'a.amr'}", RPC_INVALID_PARAMS,
	  "not a RIFF" },
	{ "{'in': 'text.amr', 'out': 'b.wav'}", RPC_INVALID_PARAMS,
	  "not an AMR file" },
	{ "{'in': 'wide.amr', 'out': 'b.wav'}", RPC_INVALID_PARAMS, ".awb" },
	{ "{'in': 'many.amr', 'out': 'b.wav'}", RPC_INVALID_PARAMS, "mono" },
	{ "{'in': 'notes.txt', 'out': 'b.wav'}", RPC_INVALID_PARAMS,
	  ".wav, .amr or .awb" },
	{ "{'in': 'a.wav', 'out': 'b.mp3'}", RPC_INVALID_PARAMS,
	  ".wav, .amr or .awb" },
	{ "{'in': 'a.wav', 'out': 'cd.wav'}", RPC_CONFLICT, "overwrite" },
	{ "{'in': 'a.wav', 'out': 'a.wav', 'overwrite': true}",
	  RPC_INVALID_PARAMS, "one file" },
};

/* Tells of opens of the one file that must not be opened: of a device it may
 * have effects. */
static int watch_opens(struct test_spool *sp, const char *name)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	assert_true(fd >= 0);
	assert_true(inotify_add_watch(fd, test_spool_path(sp, name), IN_OPEN) >=
		    0);
	return fd;
}

static void assert_not_opened(int watch)
{
	char event[sizeof(struct inotify_event) + 256];

	assert_int_equal(read(watch, event, sizeof(event)), -1);
	assert_int_equal(errno, EAGAIN);
	(void)close(watch);
}

static void a_bad_conversion_is_refused_and_leaves_nothing(void **state)
{
	struct test_spool sp;
	int watch;
	struct client c;
	struct scratch d;
	unsigned before;
	json_t *o;

	test_spool_make(&sp);
	furnish(&sp);
	before = test_spool_count(&sp);
	watch = watch_opens(&sp, "pipe.wav");
	client_open_desk(&c, &d, &(struct desk_options){ .spool = sp.dir });
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		client_refused(&c, "convert.start", bad[i].params, bad[i].code,
			       bad[i].why);
	assert_not_opened(watch);
	o = client_ask(&c, "convert.list", NULL);
	assert_int_equal(json_array_size(json_object_get(o, "conversions")), 0);
	json_decref(o);
	assert_int_equal(test_spool_count(&sp), before);
	client_refused(&c, "convert.query", NULL, RPC_INVALID_PARAMS,
		       "which conversion?");
	client_refused(&c, "convert.query", "{'conversion': 1}",
		       RPC_NO_SUCH_CONVERSION, "no conversion 1");
	client_refused(&c, "convert.cancel", "{'conversion': 1}",
		       RPC_NO_SUCH_CONVERSION, "no conversion 1");
	client_close_desk(&c, &d);
}

static void without_a_spool_there_are_no_conversions(void **state)
{
	struct client c;
	struct scratch d;

	client_open_desk(&c, &d, &(struct desk_options){ 0 });
	client_refused(&c, "convert.start", "{'in': 'a.wav', 'out': 'a.amr'}",
		       RPC_UNSUPPORTED, "--spool");
	client_refused(&c, "convert.query", "{'conversion': 1}",
		       RPC_NO_SUCH_CONVERSION, "no conversion");
	client_do(&c, "convert.list", NULL);
	client_close_desk(&c, &d);
}

/* Broken behind the header: seen on the way, said with its place. */
static void a_file_broken_in_the_middle_fails_and_leaves_nothing(void **state)
{
	static const struct {
		uint8_t toc;
		size_t cut;
		const char *why;
	} cases[] = {
		{ 0x3c, 3, "cut off: the frame at byte 9606 has 32 bytes" },
		{ 0x48, 0, "broken at byte 9606: AMR has no frame type 9" },
		{ 0x74, 0, "broken at byte 9606: AMR has no frame type 14" },
	};
	uint8_t amr[6 + 32 * 301] = "#!AMR\n";
	struct test_spool sp;
	struct client c;
	struct scratch d;

	test_spool_make(&sp);
	client_open_desk(&c, &d, &(struct desk_options){ .spool = sp.dir });
	for (unsigned i = 0; i < 3; i++) {
		for (unsigned k = 0; k < 301; k++)
			amr[6 + 32 * k] = k < 300 ? 0x3c : cases[i].toc;
		test_spool_write(&sp, "a.amr", amr, sizeof(amr) - cases[i].cut);
		client_do(&c, "convert.start",
			  "{'in': 'a.amr', 'out': 'a.wav'}");
		desk_wait_for(&d, &c.conversions_ended, i + 1);
		assert_string_equal(text(c.last_conversion, "state"), "failed");
		if (!strstr(text(c.last_conversion, "why"), cases[i].why))
			fail_msg("%s", text(c.last_conversion, "why"));
		assert_int_equal(test_spool_count(&sp), 1);
	}
	client_close_desk(&c, &d);
}

struct answers {
	unsigned all, taken;
};

static void on_answer(void *arg, const json_t *result, const json_t *error)
{
	struct answers *a = arg;

	a->all++;
	a->taken += !!result;
	if (error && !strstr(text(error, "message"), "--max-conversions"))
		fail_msg("%s", text(error, "message"));
}

/* Many at a time: an answer takes as long as a look at the file. */
static void submit_many(struct client *c, unsigned n, struct answers *a)
{
	char out[32];

	for (unsigned i = 0; i < n; i++) {
		(void)snprintf(out, sizeof(out), "%u.amr", i);
		assert_int_equal(rpc_client_call(c->rpc, "convert.start",
						 json_pack("{s:s,s:s}", "in",
							   "a.wav", "out", out),
						 on_answer, a),
				 0);
		if (i % 100 == 99)
			desk_wait_for(c->scratch, &a->all, i + 1);
	}
}

/* Nothing else runs then: of those that wait, the first is whose costs are
 * known first. */
static void wait_until_one_runs(struct client *c)
{
	long long running;

	do {
		json_t *o = client_ask(c, "stats", NULL);

		running = desk_number(o, "conversions.running");
		json_decref(o);
	} while (running < 1);
}

/* Ten thousand behind one that takes long: so many are taken, the others told
 * why; all that were taken end, and the oldest are forgotten. */
static void ten_thousand_conversions_get_an_answer_each(void **state)
{
	enum { CONVERSIONS = 10000, ROOM = 2000 };
	struct answers a = { 0 };
	struct test_spool sp;
	struct client c;
	struct scratch d;
	unsigned taken;
	json_t *o;

	test_spool_make(&sp);
	test_spool_wav(&sp, "a.wav", 8000, 160, 1);
	test_spool_endless(&sp, "endless.wav");
	client_open_desk(&c, &d,
			 &(struct desk_options){ .spool = sp.dir,
						 .conversions = 1,
						 .max_conversions = ROOM });
	client_do(&c, "convert.start", "{'in': 'endless.wav', 'out': 'e.awb'}");
	wait_until_one_runs(&c);
	submit_many(&c, CONVERSIONS, &a);
	assert_int_equal(a.all, CONVERSIONS);
	taken = 1 + a.taken;
	assert_int_equal(taken, ROOM);
	client_do(&c, "convert.cancel", "{'conversion': 1}");
	desk_wait_for(&d, &c.conversions_ended, taken);
	o = client_ask(&c, "stats", NULL);
	assert_int_equal(desk_number(o, "conversions.done"), ROOM - 1);
	assert_int_equal(desk_number(o, "conversions.cancelled"), 1);
	assert_int_equal(desk_number(o, "conversions.refused"),
			 CONVERSIONS + 1 - ROOM);
	assert_int_equal(desk_number(o, "conversions.running"), 0);
	json_decref(o);
	assert_int_equal(test_spool_count(&sp), 2 + ROOM - 1);
	client_refused(&c, "convert.query", "{'conversion': 1}",
		       RPC_NO_SUCH_CONVERSION, "the last 1000");
	client_close_desk(&c, &d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_bad_conversion_is_refused_and_leaves_nothing),
		cmocka_unit_test(without_a_spool_there_are_no_conversions),
		cmocka_unit_test(
			a_file_broken_in_the_middle_fails_and_leaves_nothing),
		cmocka_unit_test(ten_thousand_conversions_get_an_answer_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
