//! What a command may ask of the kernel: a list of what is allowed, so that what is new in a kernel
//! is refused. It is what programs need that read files, compute, start programs and print.
//!
//! There are two filters. The first allows; what it does not know fails as on an older kernel
//! (`ENOSYS`), so that a C library takes its other way. The second names what programs may try in
//! earnest, which fails with a word that says why (`EPERM`).

use std::collections::BTreeMap;
use std::io;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

/// Who keeps signals among the command's own processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signals {
    /// Landlock does.
    Scoped,
    /// The filter does, by the number of the command's group and first process. What the command
    /// starts can then be sent signals as a group only.
    OwnGroup(i32),
}

/// Allowed whatever the arguments are.
const ALLOWED: &[c_long] = &[
    // Descriptors that are open.
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_copy_file_range,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_fadvise64,
    libc::SYS_fcntl,
    libc::SYS_fdatasync,
    libc::SYS_flock,
    libc::SYS_fsync,
    libc::SYS_ioctl,
    libc::SYS_lseek,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_preadv2,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_pwritev2,
    libc::SYS_read,
    libc::SYS_readahead,
    libc::SYS_readv,
    libc::SYS_sendfile,
    libc::SYS_splice,
    libc::SYS_tee,
    libc::SYS_write,
    libc::SYS_writev,
    // Waiting for them.
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_eventfd2,
    libc::SYS_pipe2,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_signalfd4,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_gettime,
    libc::SYS_timerfd_settime,
    // Files by their path; what may be opened is Landlock's to say.
    libc::SYS_chdir,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_fchdir,
    libc::SYS_fgetxattr,
    libc::SYS_flistxattr,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    libc::SYS_getxattr,
    libc::SYS_lgetxattr,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
    libc::SYS_newfstatat,
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_readlinkat,
    libc::SYS_statfs,
    libc::SYS_statx,
    libc::SYS_umask,
    // Memory.
    libc::SYS_brk,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    libc::SYS_mincore,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_msync,
    libc::SYS_munmap,
    // Programs, processes and threads. `seccomp` can only take away further.
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_futex_waitv,
    libc::SYS_get_robust_list,
    libc::SYS_prctl,
    libc::SYS_rseq,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min,
    libc::SYS_sched_yield,
    libc::SYS_seccomp,
    libc::SYS_set_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_wait4,
    libc::SYS_waitid,
    // Who and where the process is.
    libc::SYS_capget,
    libc::SYS_getcpu,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getgroups,
    libc::SYS_getpgid,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getpriority,
    libc::SYS_getresgid,
    libc::SYS_getresuid,
    libc::SYS_getrusage,
    libc::SYS_getsid,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_sysinfo,
    libc::SYS_times,
    libc::SYS_uname,
    // Its own signals and timers, time and chance.
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_getitimer,
    libc::SYS_getrandom,
    libc::SYS_gettimeofday,
    libc::SYS_nanosleep,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_setitimer,
    libc::SYS_sigaltstack,
    libc::SYS_timer_create,
    libc::SYS_timer_delete,
    libc::SYS_timer_getoverrun,
    libc::SYS_timer_gettime,
    libc::SYS_timer_settime,
];

/// The older forms of the same, which aarch64 never had.
#[cfg(target_arch = "x86_64")]
const OLDER: &[c_long] = &[
    libc::SYS_access,
    libc::SYS_alarm,
    libc::SYS_arch_prctl,
    libc::SYS_dup2,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_eventfd,
    libc::SYS_fork,
    libc::SYS_getdents,
    libc::SYS_getpgrp,
    libc::SYS_getrlimit,
    libc::SYS_lstat,
    libc::SYS_open,
    libc::SYS_pause,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_readlink,
    libc::SYS_select,
    libc::SYS_setrlimit,
    libc::SYS_stat,
    libc::SYS_time,
    libc::SYS_vfork,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[c_long] = &[];

/// Refused by name.
const REFUSED: &[c_long] = &[
    // The network, and other processes' sockets: not even a pair, since one can be made to send
    // anywhere.
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_io_uring_setup,
    libc::SYS_listen,
    libc::SYS_socket,
    libc::SYS_socketpair,
    // Changes to files that Landlock has no right for, or has only in newer kernels.
    libc::SYS_fallocate,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_fremovexattr,
    libc::SYS_fsetxattr,
    libc::SYS_ftruncate,
    libc::SYS_linkat,
    libc::SYS_lremovexattr,
    libc::SYS_lsetxattr,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_removexattr,
    libc::SYS_renameat2,
    libc::SYS_setxattr,
    libc::SYS_symlinkat,
    libc::SYS_truncate,
    libc::SYS_unlinkat,
    libc::SYS_utimensat,
    // Leaving the group that is killed at the end.
    libc::SYS_setpgid,
    libc::SYS_setsid,
    // Other processes, other users, other namespaces, the kernel itself.
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_request_key,
    libc::SYS_sched_setaffinity,
    libc::SYS_setgid,
    libc::SYS_setgroups,
    libc::SYS_setns,
    libc::SYS_setpriority,
    libc::SYS_setregid,
    libc::SYS_setresgid,
    libc::SYS_setresuid,
    libc::SYS_setreuid,
    libc::SYS_setuid,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
];

/// The older forms of the same.
#[cfg(target_arch = "x86_64")]
const OLDER_REFUSED: &[c_long] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_creat,
    libc::SYS_lchown,
    libc::SYS_link,
    libc::SYS_mkdir,
    libc::SYS_mknod,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_rmdir,
    libc::SYS_symlink,
    libc::SYS_unlink,
    libc::SYS_utime,
    libc::SYS_utimes,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER_REFUSED: &[c_long] = &[];

/// `clone` flags that make namespaces, or a process that the host would have to wait for
/// (`CLONE_PARENT`). `clone3` has them out of a filter's sight, so it is not allowed at all; C
/// libraries then use `clone`.
const CLONE_OUTSIDE: u64 = 0x7e02_0000 | 0x8000;

/// Requests that put characters into a terminal's input.
const TERMINAL_INPUT: [u64; 2] = [0x5412, 0x541c];

/// `fcntl` commands that have signals sent to a process of choice.
const SIGNAL_OWNER: [u64; 3] = [8, 10, 15];

/// The `prctl` option by which a command could outlive the host.
const PARENT_DEATH: u64 = 1;

/// Installs both filters; they bind this process and all that it starts, for ever.
pub(super) fn filter(signals: Signals) -> io::Result<()> {
    for program in [allowing(signals), refusing()] {
        apply_filter(&program.map_err(io::Error::other)?).map_err(io::Error::other)?;
    }
    Ok(())
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;
type Built<T> = Result<T, seccompiler::BackendError>;

fn allowing(signals: Signals) -> Built<BpfProgram> {
    let mut rules = always(&[ALLOWED, OLDER]);
    let outside = SeccompCmpOp::MaskedEq(CLONE_OUTSIDE);
    rules.insert(libc::SYS_clone, vec![when(0, outside, 0)?]);
    // Of other processes, even limits could be changed.
    rules.insert(libc::SYS_prlimit64, equal(0, &[0])?);
    match signals {
        Signals::Scoped => rules.extend(always(&[&[
            libc::SYS_kill,
            libc::SYS_tgkill,
            libc::SYS_tkill,
        ]])),
        Signals::OwnGroup(leader) => {
            let [own, group] = [leader, -leader].map(|id| u64::from(id.cast_unsigned()));
            rules.insert(libc::SYS_kill, equal(0, &[0, own, group])?);
            rules.insert(libc::SYS_tgkill, equal(0, &[own])?);
        }
    }
    build(
        rules,
        SeccompAction::Errno(errno(libc::ENOSYS)),
        SeccompAction::Allow,
    )
}

fn refusing() -> Built<BpfProgram> {
    let mut rules = always(&[REFUSED, OLDER_REFUSED]);
    rules.insert(libc::SYS_ioctl, equal(1, &TERMINAL_INPUT)?);
    rules.insert(libc::SYS_fcntl, equal(1, &SIGNAL_OWNER)?);
    rules.insert(libc::SYS_prctl, equal(0, &[PARENT_DEATH])?);
    build(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(errno(libc::EPERM)),
    )
}

fn build(rules: Rules, otherwise: SeccompAction, matching: SeccompAction) -> Built<BpfProgram> {
    let machine = if cfg!(target_arch = "x86_64") {
        TargetArch::x86_64
    } else {
        TargetArch::aarch64
    };
    SeccompFilter::new(rules, otherwise, matching, machine)?.try_into()
}

fn always(lists: &[&[c_long]]) -> Rules {
    lists
        .iter()
        .copied()
        .flatten()
        .map(|call| (*call, Vec::new()))
        .collect()
}

/// Rules that match where an argument is one of these values; the kernel takes 32 bits of each.
fn equal(argument: u8, values: &[u64]) -> Built<Vec<SeccompRule>> {
    let rules = values
        .iter()
        .map(|value| when(argument, SeccompCmpOp::Eq, *value));
    rules.collect()
}

fn when(argument: u8, how: SeccompCmpOp, value: u64) -> Built<SeccompRule> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, how, value)?;
    SeccompRule::new(vec![condition])
}

fn errno(code: libc::c_int) -> u32 {
    code.cast_unsigned()
}
