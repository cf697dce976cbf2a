/** The last steps to a process in a container: it gives up what it must not have, and becomes the program. */
import { isAbsolute, posix } from 'node:path'
import { capabilityCount } from '#runtime/launch/capabilities.ts'
import { controls, here, lastDescriptor, openFlags, terminalCalls } from '#runtime/launch/kernel-numbers.ts'
import { descriptors } from '#runtime/launch/launch-program.ts'
import type { LaunchScript } from '#runtime/launch/launch-script.ts'
import type { ProcessSpec } from '#runtime/launch/process-spec.ts'

/** What the kernel takes of one argument or variable. */
const mostTextBytes = 131_072
const usualPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
/** Of a file; a longer one is nowhere to be found. */
const longestName = 255
/** Where the file of the AppArmor profile is open. */
const profileDescriptor = 11
/** What the kernel says of a file system, and which one it is first. */
const fileSystemBytes = 128
const procMagic = 0x9fa0
const cloexecFlag = 1
const setDescriptorFlags = 2

/** Where the terminal's two ends are kept on the way: that of the node, and that of the container. */
export const terminalEnds = { outer: 10, inner: 9 } as const

/** Runs inside the container's root. */
export function becomeProcess(script: LaunchScript, spec: ProcessSpec): void {
  takeStreams(script, spec)
  // From here on nothing of the node is open: neither a working directory nor the program can lead there.
  script.call('close_range', [descriptors.script, lastDescriptor, 0])
  script.call('fcntl', [descriptors.status, setDescriptorFlags, cloexecFlag])
  const keepsOrder = !spec.hasNoNewPrivileges
  script.call('prctl', [controls.keepCapabilities, 1, 0, 0, 0])
  for (let bit = 0; bit < capabilityCount; bit++) {
    if ((spec.capabilities & (1n << BigInt(bit))) !== 0n) continue
    // Kernels that know fewer refuse those they do not know.
    script.call('prctl', [controls.dropBounding, bit, 0, 0, 0], { onError: 'next' })
  }
  if (keepsOrder) filterCalls(script, spec)
  takeIdentity(script, spec)
  if (spec.hasNoNewPrivileges) {
    script.call('prctl', [controls.setNoNewPrivileges, 1, 0, 0, 0], { what: 'no_new_privs' })
    filterCalls(script, spec)
  }
  execute(script, spec)
}

/** Opens a terminal of the container's own; its ends lie at fixed places then. */
export function openTerminal(script: LaunchScript): void {
  const opened = script.call('openat', [here, '/dev/pts/ptmx', openFlags.readWrite | openFlags.noControllingTerminal], {
    what: 'open a terminal',
  })
  script.feed(opened, script.call('dup3', [0, terminalEnds.outer, 0]), 0)
  script.call('ioctl', [terminalEnds.outer, terminalCalls.unlock, script.word(0)], { what: 'unlock the terminal' })
  const peer = script.call('ioctl', [terminalEnds.outer, terminalCalls.openPeer, openFlags.readWrite | openFlags.noControllingTerminal])
  script.feed(peer, script.call('dup3', [0, terminalEnds.inner, 0]), 0)
}

function takeStreams(script: LaunchScript, { uid, hasTerminal }: ProcessSpec): void {
  script.call('setsid', [], { onError: 'next' })
  if (hasTerminal) {
    for (const descriptor of [0, 1, 2]) script.call('dup3', [terminalEnds.inner, descriptor, 0])
    script.call('ioctl', [0, terminalCalls.takeOver, 0], { what: 'take over the terminal' })
  }
  // A user other than root is to open /dev/stdout as well. What cannot be given, such as /dev/null on the node, stays.
  if (uid !== 0) for (const descriptor of hasTerminal ? [0] : [1, 2]) script.call('fchown', [descriptor, uid, -1], { onError: 'next' })
}

function filterCalls(script: LaunchScript, { seccompFilter }: ProcessSpec): void {
  if (seccompFilter === undefined) return
  const program = script.bytes(seccompFilter)
  const head = Buffer.alloc(16)
  head.writeUInt16LE(seccompFilter.length / 8)
  const description = script.bytes(head)
  script.pointTo(description, 8, program)
  script.call('seccomp', [1, 0, description], { what: 'load the seccomp filter' })
}

function takeIdentity(script: LaunchScript, spec: ProcessSpec): void {
  const { uid, gid, groups, maySetGroups, capabilities, ambient } = spec
  if (maySetGroups) {
    const list = Buffer.alloc(4 * Math.max(1, groups.length))
    for (const [index, group] of groups.entries()) list.writeUInt32LE(group, 4 * index)
    script.call('setgroups', [groups.length, script.bytes(list)], { what: 'set the groups' })
  }
  script.call('setresgid', [gid, gid, gid], { what: `set the group ${gid}` })
  script.call('setresuid', [uid, uid, uid], { what: `set the user ${uid}` })
  const header = Buffer.alloc(8)
  header.writeUInt32LE(0x20080522)
  const sets = Buffer.alloc(24)
  const word = (set: bigint, half: number) => Number((set >> BigInt(32 * half)) & 0xffffffffn)
  for (const half of [0, 1]) {
    sets.writeUInt32LE(word(capabilities, half), 12 * half)
    sets.writeUInt32LE(word(capabilities, half), 12 * half + 4)
    // What is inheritable would survive programs that give rights by file: only what is ambient has to be.
    sets.writeUInt32LE(word(ambient, half), 12 * half + 8)
  }
  script.call('capset', [script.bytes(header), script.bytes(sets)], { what: 'set the capabilities' })
  for (let bit = 0; bit < capabilityCount; bit++) {
    if ((ambient & (1n << BigInt(bit))) !== 0n) script.call('prctl', [controls.ambient, controls.ambientRaise, bit, 0, 0])
  }
}

/** A link of the image may have led a volume over that file, which would take any profile. */
function mustBeOfKernel(script: LaunchScript, descriptor: number, what: string): void {
  const description = script.bytes(Buffer.alloc(fileSystemBytes))
  const isOf = script.later()
  script.call('fstatfs', [descriptor, description], { what })
  script.jumpIfEqual(description, script.word(procMagic), isOf)
  script.call('write', [-1, '', 0], { what: `${what}: /proc is not the kernel's` })
  script.settle(isOf)
}

function execute(script: LaunchScript, { args, env, directory, appArmorProfile }: ProcessSpec): void {
  script.call('umask', [0o022])
  script.call('chdir', [directory], { what: `chdir to cwd ("${directory}") set in config.json failed` })
  if (appArmorProfile !== undefined) {
    const text = `exec ${appArmorProfile}`
    const opened = script.call('openat', [here, '/proc/thread-self/attr/exec', openFlags.writeOnly | openFlags.closeOnExec])
    script.feed(opened, script.call('dup3', [0, profileDescriptor, openFlags.closeOnExec]), 0)
    const what = `apply the AppArmor profile ${appArmorProfile}`
    mustBeOfKernel(script, profileDescriptor, what)
    script.call('write', [profileDescriptor, text, text.length], { what })
  }
  const [program = ''] = args
  // As the kernel would say; here before each place of a long PATH is made a step.
  if ([...args, ...env].some((text) => text.length >= mostTextBytes))
    throw new Error(`exec: ${JSON.stringify(program.slice(0, 255))}: argument list too long`)
  const argv = script.texts(args)
  const environment = script.texts(env)
  const path = env.find((variable) => variable.startsWith('PATH='))?.slice('PATH='.length) ?? usualPath
  const places = program.includes('/')
    ? [program]
    : [...new Set(path.split(':'))].map((place) => posix.join(isAbsolute(place) ? place : `/${place}`, program.slice(0, longestName + 1)))
  const last = places.at(-1) ?? program
  for (const place of places.slice(0, -1)) script.call('execve', [place, argv, environment], { onError: 'next' })
  script.call('execve', [last, argv, environment], {
    what: program.includes('/') ? `exec: "${program}": stat ${program}` : `exec: "${program}": executable file not found in $PATH`,
  })
}
