/* Files that the command writes: whole or not at all, devices and pipes as what they are, no traces of runs that died.
 *
 * A run that dies is a child that opens a file, writes half of it and waits to be ended. */
#include "cli/output.h"
#include "tw_test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- an empty folder to be in ---- */

static char home[] = "/tmp/tw_output_XXXXXX";

static void enter(void)
{
    strcpy(home + strlen(home) - 6, "XXXXXX");
    assert_non_null(mkdtemp(home));
    assert_int_equal(chdir(home), 0);
}

static void leave(void)
{
    char command[100];
    assert_int_equal(chdir("/"), 0);
    snprintf(command, sizeof command, "chmod -R u+rwx %s; rm -rf %s", home, home);
    assert_int_equal(system(command), 0);
}

static int n_entries(void)
{
    int n = 0;
    DIR *folder = opendir(".");
    while (readdir(folder)) n++;
    closedir(folder);
    return n - 2;
}

static void put(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void check_text(const char *path, const char *text)
{
    char got[200] = "";
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    got[fread(got, 1, sizeof got - 1, in)] = 0;
    fclose(in);
    CHECK_STR(got, text);
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode;
}

/* Writes the text the way that every command does; 0 or errno. */
static int write_text(const char *path, const char *text)
{
    output_file file;
    if (!output_path_open(&file, path)) return errno;
    fputs(text, file.stream);
    return output_file_commit(&file) ? 0 : errno;
}

/* ---- regular files ---- */

TEST(a_file_is_there_only_when_it_is_complete)
{
    enter();
    put("x", "old");
    output_file file;
    CHECK(output_path_open(&file, "x"));
    fputs("new", file.stream);
    fflush(file.stream);
    check_text("x", "old");
    CHECK_EQ(n_entries(), 2);
    CHECK(output_file_commit(&file));
    check_text("x", "new");
    CHECK(output_path_open(&file, "x"));
    output_file_drop(&file);
    check_text("x", "new");
    CHECK_EQ(n_entries(), 1);
    leave();
}

TEST(a_new_file_is_an_ordinary_one_and_an_old_one_keeps_its_permissions)
{
    enter();
    mode_t mask = umask(022);
    CHECK_EQ(write_text("new", "x"), 0);
    CHECK_EQ(mode_of("new") & 07777, 0644);
    put("old", "x");
    chmod("old", 0640);
    CHECK_EQ(write_text("old", "y"), 0);
    CHECK_EQ(mode_of("old") & 07777, 0640);
    umask(mask);
    leave();
}

TEST(a_file_that_must_not_be_written_is_not_replaced_either)
{
    if (geteuid() == 0) skip(); /* who may write everything */
    enter();
    put("x", "old");
    chmod("x", 0444);
    CHECK_EQ(write_text("x", "new"), EACCES);
    check_text("x", "old");
    leave();
}

TEST(a_name_of_255_bytes_can_be_written)
{
    enter();
    char name[256];
    memset(name, 'n', 255);
    name[255] = 0;
    CHECK_EQ(write_text(name, "x"), 0);
    CHECK_EQ(n_entries(), 1);
    leave();
}

TEST(what_names_no_file_is_refused)
{
    enter();
    mkdir("folder", 0777);
    CHECK_EQ(write_text("folder", "x"), EISDIR);
    CHECK_EQ(write_text("folder/", "x"), EISDIR);
    CHECK_EQ(write_text("nosuch/x", "x"), ENOENT);
    CHECK_EQ(write_text("", "x"), ENOENT);
    CHECK_EQ(n_entries(), 1);
    leave();
}

/* ---- links ---- */

TEST(links_to_files_stay_and_the_file_behind_them_is_replaced)
{
    enter();
    mkdir("a", 0777);
    mkdir("a/b", 0777);
    put("a/file", "old");
    chmod("a/file", 0600);
    CHECK_EQ(symlink("../file", "a/b/link"), 0);
    CHECK_EQ(symlink("a/b/link", "link"), 0);
    CHECK_EQ(write_text("link", "new"), 0);
    CHECK(S_ISLNK(mode_of("link")) && S_ISLNK(mode_of("a/b/link")) && S_ISREG(mode_of("a/file")));
    CHECK_EQ(mode_of("a/file") & 0777, 0600);
    check_text("a/file", "new");
    leave();
}

TEST(a_link_to_nothing_makes_the_file_that_it_names)
{
    enter();
    CHECK_EQ(symlink("made", "link"), 0);
    CHECK_EQ(write_text("link", "new"), 0);
    CHECK(S_ISLNK(mode_of("link")));
    check_text("made", "new");
    CHECK_EQ(symlink("nosuch/made", "far"), 0);
    CHECK_EQ(write_text("far", "new"), ENOENT);
    leave();
}

TEST(links_in_a_circle_are_refused)
{
    enter();
    CHECK_EQ(symlink("b", "a"), 0);
    CHECK_EQ(symlink("a", "b"), 0);
    CHECK_EQ(write_text("a", "x"), ELOOP);
    CHECK_EQ(n_entries(), 2);
    leave();
}

/* ---- what is no file ---- */

TEST(a_pipe_is_written_to_and_stays_one)
{
    enter();
    char got[10] = "";
    CHECK_EQ(mkfifo("pipe", 0600), 0);
    CHECK_EQ(symlink("pipe", "link"), 0);
    int reader = open("pipe", O_RDONLY | O_NONBLOCK);
    CHECK_EQ(write_text("pipe", "one"), 0);
    CHECK_EQ(write_text("link", "two"), 0);
    CHECK_EQ(read(reader, got, sizeof got), 6);
    CHECK_STR(got, "onetwo");
    CHECK(S_ISFIFO(mode_of("pipe")) && S_ISLNK(mode_of("link")));
    CHECK_EQ(n_entries(), 2);
    close(reader);
    leave();
}

TEST(a_reader_that_went_away_is_nobodys_fault)
{
    enter();
    signal(SIGPIPE, SIG_IGN);
    CHECK_EQ(mkfifo("pipe", 0600), 0);
    int reader = open("pipe", O_RDONLY | O_NONBLOCK);
    output_file file;
    CHECK(output_path_open(&file, "pipe"));
    close(reader);
    for (int i = 0; i < 100000; i++) fputs("more", file.stream);
    CHECK(!ferror(file.stream));
    CHECK(output_file_commit(&file));
    leave();
}

TEST(a_device_is_written_to_and_stays_one)
{
    enter();
    if (mknod("null", S_IFCHR | 0666, makedev(1, 3)) != 0) { /* only root makes devices */
        leave();
        skip();
    }
    int opens = open("null", O_WRONLY);
    if (opens < 0) { /* or the folder forbids them */
        leave();
        skip();
    }
    close(opens);
    CHECK_EQ(write_text("null", "x"), 0);
    CHECK(S_ISCHR(mode_of("null")));
    if (mknod("full", S_IFCHR | 0666, makedev(1, 7)) == 0) CHECK_EQ(write_text("full", "x"), ENOSPC);
    CHECK_EQ(n_entries(), 2);
    leave();
}

/* Descriptor `to` stands for `path` while the text is written to `name`. */
static void write_through(const char *path, int flags, int to, const char *name)
{
    int kept = dup(to), fd = open(path, O_WRONLY | O_CREAT | flags, 0644);
    dup2(fd, to);
    CHECK_EQ(write(to, "before ", 7), 7);
    int error = write_text(name, "it ");
    CHECK_EQ(write(to, "after", 5), 5);
    close(fd);
    if (kept >= 0) {
        dup2(kept, to);
        close(kept);
    } else {
        close(to);
    }
    CHECK_EQ(error, 0);
}

TEST(a_descriptor_is_written_to_where_it_stands)
{
    enter();
    fflush(stdout);
    CHECK_EQ(symlink("/dev/stdout", "link"), 0);
    write_through("x", O_TRUNC, 1, "/dev/stdout");
    check_text("x", "before it after");
    write_through("x", O_APPEND, 1, "link");
    check_text("x", "before it afterbefore it after");
    write_through("y", O_TRUNC, 50, "/dev/fd/50");
    check_text("y", "before it after");
    CHECK_EQ(n_entries(), 3);
    leave();
}

TEST(only_files_and_links_of_earlier_runs_are_removed)
{
    enter();
    put("file", "x");
    CHECK_EQ(symlink("file", "link"), 0);
    CHECK_EQ(mkfifo("pipe", 0600), 0);
    CHECK(output_remove(".", "link") && output_remove(".", "file"));
    CHECK(!output_remove(".", "pipe") && !output_remove(".", "nosuch"));
    CHECK(S_ISFIFO(mode_of("pipe")));
    leave();
}

/* ---- several files ---- */

static void add_text(output_batch *batch, const char *path, const char *text)
{
    output_file file;
    CHECK(output_path_open(&file, path));
    fputs(text, file.stream);
    CHECK(output_batch_add(batch, &file));
}

TEST(files_of_a_batch_appear_together_or_not_at_all)
{
    output_batch batch = {0};
    enter();
    put("b", "old");
    add_text(&batch, "a", "new a");
    add_text(&batch, "b", "new b");
    check_text("b", "old");
    CHECK_EQ(n_entries(), 3);
    output_batch_drop(&batch);
    CHECK_EQ(n_entries(), 1);
    check_text("b", "old");
    add_text(&batch, "a", "new a");
    add_text(&batch, "b", "new b");
    CHECK(output_batch_commit(&batch));
    CHECK_EQ(n_entries(), 2);
    check_text("a", "new a");
    check_text("b", "new b");
    leave();
}

TEST(a_batch_takes_more_files_than_it_holds)
{
    enum { N = 3 * OUTPUT_BATCH / 2 };
    output_batch batch = {0};
    char name[20];
    enter();
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "file%d", i);
        add_text(&batch, name, name);
    }
    CHECK(output_batch_commit(&batch));
    CHECK_EQ(n_entries(), N);
    check_text("file0", "file0");
    check_text(name, name);
    leave();
}

TEST(a_folder_that_goes_away_fails_the_batch)
{
    output_batch batch = {0};
    enter();
    mkdir("f", 0777);
    add_text(&batch, "a", "x");
    add_text(&batch, "f/b", "x");
    CHECK_EQ(system("rm -r f"), 0);
    CHECK(!output_batch_commit(&batch));
    CHECK_EQ(batch.n, 0);
    leave();
}

/* ---- runs that die ---- */

static const int deadly[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/* A job in the background may ignore some of them, as what it starts does: a child would never end. */
static void be_mortal(void)
{
    for (size_t i = 0; i < TW_COUNT(deadly); i++) signal(deadly[i], SIG_DFL);
}

/* A run in the middle of writing x. */
static pid_t start_writing(void)
{
    int ready[2];
    char byte;
    CHECK_EQ(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves no child */
        output_file file;
        if (!output_path_open(&file, "x")) _exit(1);
        fputs("half", file.stream);
        fflush(file.stream);
        if (write(ready[1], "!", 1) != 1) _exit(1);
        for (;;) pause();
    }
    close(ready[1]);
    CHECK_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return child;
}

static void end_it(pid_t child, int signal)
{
    int status;
    kill(child, signal);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == signal);
}

TEST(signals_leave_nothing_behind)
{
    be_mortal();
    for (size_t i = 0; i < TW_COUNT(deadly); i++) {
        enter();
        put("x", "old");
        pid_t child = start_writing();
        CHECK_EQ(n_entries(), 2);
        end_it(child, deadly[i]);
        CHECK_EQ(n_entries(), 1);
        check_text("x", "old");
        leave();
    }
}

TEST(an_ignored_signal_stays_ignored)
{
    be_mortal();
    enter();
    signal(SIGHUP, SIG_IGN);
    pid_t child = start_writing();
    signal(SIGHUP, SIG_DFL);
    kill(child, SIGHUP);
    usleep(20000);
    CHECK_EQ(waitpid(child, NULL, WNOHANG), 0);
    CHECK_EQ(n_entries(), 1);
    end_it(child, SIGTERM);
    CHECK_EQ(n_entries(), 0);
    leave();
}

TEST(what_a_killed_run_left_is_removed_by_the_next_but_not_what_a_living_one_writes)
{
    be_mortal();
    enter();
    pid_t dead = start_writing();
    pid_t living = start_writing();
    CHECK_EQ(n_entries(), 2);
    end_it(dead, SIGKILL);
    put(".x.tilewright-note", "somebody else's"); /* names that are not of this kind */
    put("x.tilewright-abcdef", "somebody else's");
    CHECK_EQ(mkfifo(".x.tilewright-abcdef", 0600), 0); /* of this kind, but never made by us */
    CHECK_EQ(n_entries(), 5);
    CHECK_EQ(write_text("other", "new"), 0);
    CHECK_EQ(n_entries(), 5); /* `other` came, the dead one's file went */
    end_it(living, SIGINT);
    CHECK_EQ(n_entries(), 4);
    leave();
}
