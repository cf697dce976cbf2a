/** What of root's power a container's processes may have: the kernel's capabilities, as sets of bits. */

const names = [
  'CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN',
  'NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME',
  'SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON',
  'BPF CHECKPOINT_RESTORE',
]
  .join(' ')
  .split(' ')

/** What runtimes give containers that ask for nothing. */
const usual = [
  ...['CHOWN', 'DAC_OVERRIDE', 'FSETID', 'FOWNER', 'MKNOD', 'NET_RAW', 'SETGID', 'SETUID', 'SETFCAP', 'SETPCAP'],
  ...['NET_BIND_SERVICE', 'SYS_CHROOT', 'KILL', 'AUDIT_WRITE'],
]

const bit = (name: string): bigint => 1n << BigInt(names.indexOf(name))

export type CapabilityRequest = { isPrivileged: boolean; add: readonly string[]; drop: readonly string[] }

/** `own` is what this process may hand on. Throws on names that nobody knows. */
export function capabilitiesOf({ isPrivileged, add, drop }: CapabilityRequest, own: bigint): bigint {
  if (isPrivileged) return own
  const bare = (list: readonly string[]) => list.map((name) => name.toUpperCase().replace(/^CAP_/, ''))
  const dropped = bare(drop)
  const added = bare(add)
  for (const name of [...added, ...dropped])
    if (name !== 'ALL' && !names.includes(name)) throw new Error(`unknown capability "CAP_${name}"`)
  const all = (1n << BigInt(names.length)) - 1n
  let set = dropped.includes('ALL') ? 0n : usual.reduce((sum, name) => sum | bit(name), 0n)
  if (added.includes('ALL')) set = all
  for (const name of added) if (name !== 'ALL') set |= bit(name)
  for (const name of dropped) if (name !== 'ALL') set &= ~bit(name)
  return set & own
}

export const hasCapability = (set: bigint, name: string): boolean => (set & bit(name)) !== 0n

/** `CAP_CHOWN`, … */
export const capabilityNames = (set: bigint): string[] => names.filter((name) => hasCapability(set, name)).map((name) => `CAP_${name}`)

/** In the order of their bits. */
export const capabilityCount = names.length

/** `CapBnd` of a process, as the kernel writes it in its status. */
export function boundingSetIn(status: string): bigint {
  return BigInt(`0x${/^CapBnd:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? '0'}`)
}
