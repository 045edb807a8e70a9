/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Process 1 of the throw-away SCTP guest: statically linked, no shell needed.
 *
 * Reads the NUL-separated "key=value" records of run-in-sctp-kernel.sh, loads
 * modules, brings lo up, runs the program with its output relayed to the
 * consoles, writes its status to a file of the host, and powers off.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { RECORDS_MAX = 4096, ARGS_MAX = 1024 };

static char spec[1 << 20];
static char *record[RECORDS_MAX];
static int nrecords;

static void complain(const char *what, const char *which)
{
	(void)fprintf(stderr, "sctp_init: %s %s: %s\n", what, which,
		      strerror(errno));
}

_Noreturn static void power_off(void)
{
	sync();
	(void)reboot(RB_POWER_OFF);
	for (;;)
		(void)pause();
}

static void mount_at(const char *where, const char *type, const char *options)
{
	if (mount(type, where, type, 0, options))
		complain("mount", where);
}

/* The value of a record whose key is @key, or NULL. */
static char *value(char *text, const char *key)
{
	size_t length = strlen(key);

	return strncmp(text, key, length) || text[length] != '='
		       ? NULL
		       : text + length + 1;
}

static char *first(const char *key)
{
	for (int i = 0; i < nrecords; i++) {
		if (value(record[i], key))
			return value(record[i], key);
	}
	return NULL;
}

static void read_spec(void)
{
	const char *path = getenv("sctpspec");
	int fd = path ? open(path, O_RDONLY) : -1;
	ssize_t n = fd < 0 ? -1 : read(fd, spec, sizeof(spec) - 1);

	if (n <= 0) {
		complain("read", path ? path : "sctpspec=");
		power_off();
	}
	(void)close(fd);
	for (char *p = spec; p < spec + n && nrecords < RECORDS_MAX;
	     p += strlen(p) + 1)
		record[nrecords++] = p;
}

static void load_module(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST))
		complain("module", path);
	if (fd >= 0)
		(void)close(fd);
}

static void set_sysctl(char *setting)
{
	char *equals = strchr(setting, '=');
	char path[512];
	int fd;

	if (!equals)
		return;
	*equals = '\0';
	(void)snprintf(path, sizeof(path), "/proc/sys/%s", setting);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, equals + 1, strlen(equals + 1)) < 0)
		complain("sysctl", path);
	if (fd >= 0)
		(void)close(fd);
}

static void set_up_machine(void)
{
	struct stat st;

	mount_at("/proc", "proc", NULL);
	mount_at("/sys", "sysfs", NULL);
	if (stat("/dev/null", &st) || !S_ISCHR(st.st_mode))
		mount_at("/dev", "devtmpfs", NULL);
	(void)mkdir("/dev/shm", 01777);
	mount_at("/dev/shm", "tmpfs", NULL);
	read_spec();
	for (int i = 0; i < nrecords; i++) {
		char *v;

		if ((v = value(record[i], "module")))
			load_module(v);
		else if ((v = value(record[i], "writable")))
			mount_at(v, "hostfs", v);
	}
	for (int i = 0; i < nrecords; i++) {
		if (value(record[i], "sysctl"))
			set_sysctl(value(record[i], "sysctl"));
	}
}

static void loopback_up(void)
{
	struct ifreq lo = { .ifr_name = "lo",
			    .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo))
		complain("up", "lo");
	(void)close(fd);
}

/* A console that changes no byte. */
static int open_raw(const char *path)
{
	int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	struct termios t;

	if (fd < 0) {
		complain("open", path);
		return STDERR_FILENO;
	}
	if (!tcgetattr(fd, &t)) {
		cfmakeraw(&t);
		(void)tcsetattr(fd, TCSANOW, &t);
	}
	return fd;
}

static void write_all(int fd, const char *data, ssize_t bytes)
{
	while (bytes > 0) {
		ssize_t n = write(fd, data, (size_t)bytes);

		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return;
		data += n > 0 ? n : 0;
		bytes -= n > 0 ? n : 0;
	}
}

_Noreturn static void become_program(int out, int err)
{
	char *argv[ARGS_MAX + 1] = { NULL };
	int argc = 0;

	(void)clearenv();
	for (int i = 0; i < nrecords; i++) {
		if (value(record[i], "arg") && argc < ARGS_MAX)
			argv[argc++] = value(record[i], "arg");
		else if (value(record[i], "env"))
			(void)putenv(value(record[i], "env"));
	}
	(void)setenv("TMPDIR", "/dev/shm", 1); /* /tmp is read-only */
	(void)setsid();
	(void)dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
	(void)dup2(out, STDOUT_FILENO);
	(void)dup2(err, STDERR_FILENO);
	if (chdir(first("cwd")))
		complain("chdir", first("cwd"));
	(void)execv(argv[0], argv);
	complain("exec", argv[0]);
	_exit(127);
}

/* Copy what can be read; false: nothing came. */
static bool relay(struct pollfd *from, const int *to)
{
	static char buffer[65536];
	bool any = false;

	for (int i = 0; i < 2; i++) {
		ssize_t n;

		if (!from[i].revents)
			continue;
		n = read(from[i].fd, buffer, sizeof(buffer));
		if (n > 0)
			write_all(to[i], buffer, n);
		else
			from[i].fd = -1;
		any |= n > 0;
	}
	return any;
}

/* Reap orphans too; true: @pid has ended, with *@status. */
static bool ended(pid_t pid, int *status)
{
	pid_t who;
	int s;

	while ((who = waitpid(-1, &s, WNOHANG)) > 0) {
		if (who != pid)
			continue;
		*status = WIFEXITED(s) ? WEXITSTATUS(s) : 128 + WTERMSIG(s);
		return true;
	}
	return false;
}

static int run(void)
{
	const int to[2] = { open_raw("/dev/tty1"), open_raw("/dev/tty2") };
	int out[2], err[2], status = 255;
	struct pollfd from[2];
	bool done = false, any = true;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC)) {
		complain("pipe", "");
		return status;
	}
	pid = fork();
	if (!pid)
		become_program(out[1], err[1]);
	(void)close(out[1]);
	(void)close(err[1]);
	from[0] = (struct pollfd){ .fd = out[0], .events = POLLIN };
	from[1] = (struct pollfd){ .fd = err[0], .events = POLLIN };
	while (!done || any) {
		any = poll(from, 2, done ? 0 : 50) > 0 && relay(from, to);
		if (!done)
			done = ended(pid, &status);
	}
	(void)tcdrain(to[0]);
	(void)tcdrain(to[1]);
	return status;
}

static void report(int status)
{
	const char *path = first("status");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644) : -1;
	char text[16];

	(void)snprintf(text, sizeof(text), "%d\n", status);
	if (fd < 0)
		complain("write", "status");
	else
		write_all(fd, text, (ssize_t)strlen(text));
}

int main(void)
{
	set_up_machine();
	loopback_up();
	report(run());
	power_off();
}
