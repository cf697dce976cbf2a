/** The process that holds a pod's namespaces: it waits, and takes in the orphans of those who share its processes. */
import { news, writeFile } from '#runtime/launch/container-script.ts'
import { forkChild } from '#runtime/launch/fork-child.ts'
import { cloneFlags, controls, here, lastDescriptor, mountFlags, sigChild } from '#runtime/launch/kernel-numbers.ts'
import { type Architecture, descriptors } from '#runtime/launch/launch-program.ts'
import { LaunchScript } from '#runtime/launch/launch-script.ts'
import { enterMount, kernelFiles } from '#runtime/launch/root-steps.ts'
import { makeUsers } from '#runtime/launch/user-steps.ts'

export type SandboxSpec = {
  namespaces: readonly ('net' | 'ipc' | 'uts' | 'pid')[]
  hostname: string
  /** As files below /proc/sys. */
  sysctls: Readonly<Record<string, string>>
  cgroupProcs: readonly string[]
  /** An empty directory. */
  emptyDirectory: string
  /** With users of its own, who are told to the kernel by whoever starts it. */
  hasUsers: boolean
  /** Nobody, where that user is known to the kernel here. */
  uid: number
  oomScoreAdjust: number
}

const lifelineDescriptor = 5

const flagOf = { net: cloneFlags.newNet, ipc: cloneFlags.newIpc, uts: cloneFlags.newUts, pid: cloneFlags.newPid } as const
const setInterfaceFlags = 0x8914
const isUp = 1
const noZombies = 2
const ignored = 1
const detach = 2

export function sandboxScript(spec: SandboxSpec, architecture: Architecture): LaunchScript {
  const script = new LaunchScript(architecture)
  script.call('prctl', [controls.setDumpable, 0, 0, 0, 0])
  script.call('prctl', [controls.setName, 'pause', 0, 0, 0])
  for (const path of spec.cgroupProcs) writeFile(script, path, '0', { what: `enter the cgroup ${path}` })
  writeFile(script, '/proc/self/oom_score_adj', String(spec.oomScoreAdjust), { onError: 'next' })
  if (spec.hasUsers) {
    // The pod's users could not go there by its path.
    script.call('fchmodat', [here, spec.emptyDirectory, 0o755])
    script.call('chdir', [spec.emptyDirectory])
    makeUsers(script)
  }
  const flags = spec.namespaces.reduce((all, kind) => all | flagOf[kind], 0)
  if (flags !== 0) script.call('unshare', [flags], { what: 'make namespaces' })
  if (spec.namespaces.includes('uts') && spec.hostname !== '') {
    script.call('sethostname', [spec.hostname, Buffer.byteLength(spec.hostname)], { what: 'set the host name' })
  }
  if (spec.namespaces.includes('net')) raiseLoopback(script)
  for (const [name, value] of Object.entries(spec.sysctls)) {
    writeFile(script, `/proc/sys/${name.replaceAll('.', '/')}`, value, { what: `set the sysctl ${name}` })
  }
  forkChild(script)
  rest(script, spec)
  return script
}

function raiseLoopback(script: LaunchScript): void {
  const socket = script.call('socket', [2, 2, 0])
  const request = Buffer.alloc(40)
  request.write('lo')
  request.writeUInt16LE(isUp, 16)
  script.feed(socket, script.call('ioctl', [0, setInterfaceFlags, script.bytes(request)], { what: 'raise the loopback interface' }), 0)
}

/** With nothing around it, and nobody's rights: containers that share processes can look at it. */
function rest(script: LaunchScript, { emptyDirectory, uid, hasUsers }: SandboxSpec): void {
  const { recursive, slave, noSuid, noDev, noExec, readOnly } = mountFlags
  script.call('setsid', [], { onError: 'next' })
  script.call('unshare', [cloneFlags.newMount], { what: 'make namespaces' })
  script.call('mount', [0, '/', 0, recursive | slave, 0])
  const limits = noSuid | noDev | noExec | readOnly
  if (hasUsers) enterMount(script, kernelFiles(script, 'tmpfs', limits, { size: '0', mode: '555' }))
  else {
    script.call('mount', ['tmpfs', emptyDirectory, 'tmpfs', limits, 'size=0,mode=555'], { what: 'mount an empty root' })
    script.call('chdir', [emptyDirectory])
  }
  script.call('pivot_root', ['.', '.'], { what: 'pivot_root' })
  script.call('umount2', ['.', detach])
  script.call('chdir', ['/'])
  const action = Buffer.alloc(32)
  action.writeBigUInt64LE(BigInt(ignored), 0)
  action.writeBigUInt64LE(BigInt(noZombies), 8)
  script.call('rt_sigaction', [sigChild, script.bytes(action), 0, 8])
  script.call('setresgid', [uid, uid, uid])
  script.call('setresuid', [uid, uid, uid])
  script.call('prctl', [controls.setNoNewPrivileges, 1, 0, 0, 0])
  const ready = Buffer.alloc(16)
  ready.writeBigInt64LE(news.exit)
  script.call('write', [descriptors.status, script.bytes(ready), 16])
  // Whoever holds the other end of this one hears of our end.
  script.call('close_range', [0, lifelineDescriptor - 1, 0])
  script.call('close_range', [lifelineDescriptor + 1, lastDescriptor, 0], { onError: 'next' })
  const wait = script.here()
  script.call('ppoll', [0, 0, 0, 0, 0], { onError: wait })
  script.jump(wait)
}
