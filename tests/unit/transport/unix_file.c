/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a listening socket: who may connect, what it replaces, and whose
 * it is to remove.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_cr.h"
#include "scratch.h"
#include "transport/ops.h"

static char folder[SCRATCH_MAX], path[100];

/* flock() fails with it, unless it is 0. */
static int lock_errno;
/* Of the last one that was asked for. */
static mode_t lock_mode;
/* What vanishes before it; then NULL. */
static const char *remove_first;

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);

int __wrap_flock(int fd, int operation)
{
	struct stat st;

	if (!fstat(fd, &st))
		lock_mode = st.st_mode;
	if (remove_first)
		(void)unlink(remove_first);
	remove_first = NULL;
	if (!lock_errno)
		return __real_flock(fd, operation);
	errno = lock_errno;
	return -1;
}

static int make_folder(void **state)
{
	(void)snprintf(path, sizeof(path), "%.90s/control",
		       scratch_folder(folder));
	return 0;
}

/* Nothing may be left in it. */
static int remove_folder(void **state)
{
	return rmdir(folder);
}

static int stream(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	return fd;
}

static int listening(struct unix_file *mine)
{
	int fd = stream();
	struct cr_err e = { "" };

	if (unix_file_listen(fd, path, mine, &e))
		fail_msg("%s", e.text);
	return fd;
}

static void refused(int code, const char *why)
{
	struct unix_file mine = { 0 };
	struct cr_err e = { "" };
	int fd = stream();

	assert_int_equal(unix_file_listen(fd, path, &mine, &e), code);
	if (!strstr(e.text, why) || !strstr(e.text, path))
		fail_msg("%s", e.text);
	assert_int_equal(mine.inode, 0);
	(void)close(fd);
}

static void connects(void)
{
	struct sockaddr_un to;
	int fd = stream();

	assert_int_equal(unix_address(&to, path, NULL), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	(void)close(fd);
}

static void its_mode_is_0660_whatever_the_umask(void **state)
{
	static const mode_t masks[] = { 0, 022, 077, 0777 };
	struct unix_file mine;
	mode_t before = umask(0);
	struct stat st;

	for (unsigned i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		int fd;

		(void)umask(masks[i]);
		fd = listening(&mine);
		assert_int_equal(lstat(path, &st), 0);
		assert_int_equal(st.st_mode, S_IFSOCK | 0660);
		unix_file_remove(path, &mine);
		(void)close(fd);
	}
	(void)umask(before);
}

static void what_a_dead_process_left_is_replaced(void **state)
{
	struct unix_file dead, mine;
	int fd;

	(void)close(listening(&dead));
	fd = listening(&mine);
	connects();
	unix_file_remove(path, &mine);
	(void)close(fd);
}

static void a_living_one_is_not_replaced(void **state)
{
	struct unix_file mine;
	int fd;

	fd = listening(&mine);
	refused(-EADDRINUSE, "another process listens there");
	connects();
	unix_file_remove(path, &mine);
	(void)close(fd);
}

static void a_socket_of_another_kind_is_not_replaced(void **state)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un at;

	assert_int_equal(unix_address(&at, path, NULL), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	refused(-EADDRINUSE, "another process listens there");
	assert_int_equal(unlink(path), 0);
	(void)close(fd);
}

static void a_file_is_not_replaced(void **state)
{
	struct stat st;
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, "precious", 8), 8);
	(void)close(fd);
	refused(-EEXIST, "is not a socket");
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_size, 8);
	assert_int_equal(unlink(path), 0);
}

/* Not even one that points to a dead socket: the file is not what it says. */
static void a_link_is_not_followed(void **state)
{
	char target[SCRATCH_MAX + 10];

	(void)snprintf(target, sizeof(target), "%s/target", folder);
	assert_int_equal(symlink(target, path), 0);
	refused(-EEXIST, "is not a socket");
	assert_int_equal(access(target, F_OK), -1);
	assert_int_equal(unlink(path), 0);
}

static void only_our_own_file_is_removed(void **state)
{
	struct unix_file old, mine, none = { 0 };
	int first = listening(&old), second;

	assert_int_equal(unlink(path), 0); /* somebody else did, and ... */
	second = listening(&mine);	   /* ... took its place */
	unix_file_remove(path, &old);
	unix_file_remove(path, &none);
	connects();
	unix_file_remove(path, &mine);
	assert_int_equal(access(path, F_OK), -1);
	unix_file_remove(path, &mine); /* gone already: fine */
	(void)close(first);
	(void)close(second);
}

static void a_path_too_long_is_told_its_limit(void **state)
{
	char longer[200], *name;
	struct sockaddr_un to;
	struct cr_err e = { "" };

	memset(longer, 'p', sizeof(longer));
	name = longer + sizeof(longer) - 109;
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(strlen(name), 108);
	assert_int_equal(unix_address(&to, name, &e), -ENAMETOOLONG);
	assert_non_null(strstr(e.text, "108 bytes"));
	assert_non_null(strstr(e.text, "may have 107"));
	assert_int_equal(unix_address(&to, name + 1, &e), 0);
	assert_int_equal(unix_address(&to, "", &e), -EINVAL);
}

static void a_missing_folder_is_named(void **state)
{
	char folderless[sizeof(path)];

	(void)snprintf(folderless, sizeof(folderless), "%s", path);
	(void)snprintf(path, sizeof(path), "%.80s/none/control", folder);
	refused(-ENOENT, "No such file");
	(void)snprintf(path, sizeof(path), "%s", folderless);
}

static const char *lock_path(void)
{
	static char name[sizeof(path) + 20];

	(void)snprintf(name, sizeof(name), "%s.codec-runner-start", path);
	return name;
}

/* As another starter has it, open and locked. */
static int take_lock(void)
{
	int fd = open(lock_path(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(__real_flock(fd, LOCK_EX | LOCK_NB), 0);
	return fd;
}

/* Two that start at once: the second must not take the first for dead. */
static void starters_take_turns(void **state)
{
	int fd = take_lock();

	refused(-EADDRINUSE, "another process has locked");
	assert_int_equal(access(lock_path(), F_OK), 0); /* it is not ours */
	assert_int_equal(unlink(lock_path()), 0);
	(void)close(fd);
}

/* A user who may read the folder can lock it. */
static void a_locked_folder_keeps_nobody_from_starting(void **state)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct unix_file mine;
	int ours;

	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	ours = listening(&mine);
	connects();
	unix_file_remove(path, &mine);
	(void)close(ours);
	(void)close(fd);
}

/* One that died meanwhile; a file without its process locks nothing. */
static void a_lock_that_was_left_is_taken_and_removed(void **state)
{
	struct unix_file mine;
	int fd;

	(void)close(take_lock());
	fd = listening(&mine);
	assert_int_equal(access(lock_path(), F_OK), -1);
	unix_file_remove(path, &mine);
	(void)close(fd);
}

/* While it waited for the lock, whoever had it has removed the file. */
static void a_lock_whose_file_is_gone_is_none(void **state)
{
	struct unix_file mine;
	int fd;

	remove_first = lock_path();
	fd = listening(&mine);
	assert_null(remove_first);
	assert_int_equal(access(lock_path(), F_OK), -1);
	unix_file_remove(path, &mine);
	(void)close(fd);
}

/* Nobody who may not write to it can be in our way: here a link to a file of
 * his, which we would have locked. */
static void a_lock_is_no_link_and_nobody_else_opens_it(void **state)
{
	char target[SCRATCH_MAX + 10];
	mode_t before = umask(0);

	(void)snprintf(target, sizeof(target), "%s/target", folder);
	assert_int_equal(symlink(target, lock_path()), 0);
	refused(-ELOOP, "cannot make");
	assert_int_equal(access(target, F_OK), -1);
	assert_int_equal(unlink(lock_path()), 0);
	lock_errno = ENOLCK; /* so that it shows its mode */
	refused(-ENOLCK, "cannot lock");
	lock_errno = 0;
	assert_int_equal(lock_mode, S_IFREG | 0600);
	(void)umask(before);
	assert_int_equal(unlink(lock_path()), 0);
}

/* The file that wrappers lock while they start us. */
static void a_file_of_a_wrapper_is_left_alone(void **state)
{
	char name[sizeof(path) + 8];
	struct unix_file mine;
	int theirs, fd;

	(void)snprintf(name, sizeof(name), "%s.lock", path);
	theirs = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(__real_flock(theirs, LOCK_EX | LOCK_NB), 0);
	fd = listening(&mine);
	connects();
	assert_int_equal(unlink(name), 0); /* still there */
	unix_file_remove(path, &mine);
	(void)close(fd);
	(void)close(theirs);
}

/* Whatever it is for: it is not removed, nor is it waited for. */
static void a_lock_with_something_in_it_is_not_ours(void **state)
{
	int fd = take_lock();

	assert_int_equal(write(fd, "precious", 8), 8);
	refused(-EEXIST, "is not ours");
	(void)close(fd);
	refused(-EEXIST, "is not ours");
	assert_int_equal(unlink(lock_path()), 0);
}

static void a_lock_of_another_user_is_not_ours(void **state)
{
	int fd;

	if (geteuid())
		skip(); /* we have no file of somebody else */
	fd = take_lock();
	assert_int_equal(fchown(fd, 65534, 65534), 0);
	refused(-EEXIST, "is not ours");
	assert_int_equal(unlink(lock_path()), 0);
	(void)close(fd);
}

#define IN_FOLDER(test)                                                        \
	cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(its_mode_is_0660_whatever_the_umask),
		IN_FOLDER(what_a_dead_process_left_is_replaced),
		IN_FOLDER(a_living_one_is_not_replaced),
		IN_FOLDER(a_socket_of_another_kind_is_not_replaced),
		IN_FOLDER(a_file_is_not_replaced),
		IN_FOLDER(a_link_is_not_followed),
		IN_FOLDER(only_our_own_file_is_removed),
		IN_FOLDER(a_path_too_long_is_told_its_limit),
		IN_FOLDER(a_missing_folder_is_named),
		IN_FOLDER(starters_take_turns),
		IN_FOLDER(a_locked_folder_keeps_nobody_from_starting),
		IN_FOLDER(a_lock_that_was_left_is_taken_and_removed),
		IN_FOLDER(a_lock_whose_file_is_gone_is_none),
		IN_FOLDER(a_lock_is_no_link_and_nobody_else_opens_it),
		IN_FOLDER(a_file_of_a_wrapper_is_left_alone),
		IN_FOLDER(a_lock_with_something_in_it_is_not_ours),
		IN_FOLDER(a_lock_of_another_user_is_not_ours),
	};

	return cmocka_run_group_tests_name("unix_file", tests, NULL, NULL);
}
