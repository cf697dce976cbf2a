/** The system calls of containers that ask for the runtime's own profile: all but those that reach beyond a container. */
import { systemCallNumbers } from '#base/system-call-numbers.ts'
import { hasCapability } from '#runtime/launch/capabilities.ts'
import { type FilterProfile, type FilterRule, failWith, filterActions } from '#runtime/seccomp/compile-filter.ts'

const eperm = 1
const enosys = 38

/** For nobody: keys that all containers share, other kernels, other containers' memory, ways around this very filter. */
const refused = words(
  'add_key keyctl request_key kexec_load kexec_file_load swapon swapoff sysfs ustat userfaultfd move_pages pivot_root io_uring_setup ' +
    'io_uring_enter io_uring_register migrate_pages modify_ldt',
)

/** For those who have the capability that the kernel would ask for as well. */
const byCapability: Readonly<Record<string, readonly string[]>> = {
  DAC_READ_SEARCH: words('open_by_handle_at'),
  SYS_ADMIN: words(
    'bpf fanotify_init fsconfig fsmount fsopen fspick lookup_dcookie mount mount_setattr move_mount open_tree open_tree_attr perf_event_open ' +
      'quotactl quotactl_fd setdomainname sethostname setns syslog umount2 unshare statmount listmount lsm_set_self_attr',
  ),
  SYS_BOOT: words('reboot'),
  SYS_CHROOT: words('chroot'),
  SYS_MODULE: words('delete_module init_module finit_module'),
  SYS_PACCT: words('acct'),
  SYS_PTRACE: words('kcmp pidfd_getfd process_madvise'),
  SYS_RAWIO: words('iopl ioperm'),
  SYS_TIME: words('settimeofday clock_settime'),
  SYS_TTY_CONFIG: words('vhangup'),
  SYS_NICE: words('get_mempolicy mbind set_mempolicy set_mempolicy_home_node'),
  SYSLOG: words('syslog'),
  BPF: words('bpf'),
  PERFMON: words('perf_event_open'),
}

/** Flags of clone that make namespaces. */
const namespaceFlags = 0x7e020000n
/** Ways of being that a program may ask for. */
const personalities = [0x0n, 0x8n, 0x20000n, 0x20008n, 0xffffffffn]
/** Sockets to the machine that this one runs on. */
const vsock = 40n

export function defaultProfile(capabilities: bigint, processor: 'amd64' | 'arm64'): FilterProfile {
  const isFree = hasCapability(capabilities, 'SYS_ADMIN')
  const kept = new Set(refused)
  for (const names of Object.values(byCapability)) for (const name of names) kept.add(name)
  for (const [capability, names] of Object.entries(byCapability)) {
    if (hasCapability(capabilities, capability)) for (const name of names) kept.delete(name)
  }
  const special = new Set(['personality', 'socket', ...(isFree ? [] : ['clone', 'clone3'])])
  const plain = [...systemCallNumbers(processor).keys()].filter((name) => !kept.has(name) && !special.has(name))
  const rules: FilterRule[] = [
    { names: plain, action: filterActions.allow },
    ...personalities.map((value) => ({
      names: ['personality'],
      action: filterActions.allow,
      comparisons: [{ index: 0, op: 'equal' as const, value }],
    })),
    { names: ['socket'], action: filterActions.allow, comparisons: [{ index: 0, op: 'unequal', value: vsock }] },
  ]
  if (!isFree) {
    rules.push({
      names: ['clone'],
      action: filterActions.allow,
      comparisons: [{ index: 0, op: 'maskedEqual', mask: namespaceFlags, value: 0n }],
    })
    // Its flags lie in memory, which a filter cannot see: programs that hear it does not exist take clone.
    rules.push({ names: ['clone3'], action: failWith(enosys) })
  }
  return { defaultAction: failWith(eperm), rules }
}

function words(text: string): string[] {
  return text.split(' ')
}
