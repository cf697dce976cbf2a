/**
 * The life of a container as its two processes lead it:
 *
 *   monitor (of the node)  fork ──> tell the pid ──────────────> wait ──> write down how it ended
 *   container                └──> groups, namespaces, root ──> the program
 *
 * The monitor holds what must outlive the agent: the ends of the container's pipes, its terminal, and the news of its end.
 */
import { posix } from 'node:path'
import { cloneFlags, controls, here, lastDescriptor, openFlags, sigChild } from '#runtime/launch/kernel-numbers.ts'
import { type Architecture, descriptors, type LaunchProgram } from '#runtime/launch/launch-program.ts'
import { LaunchScript, type Place } from '#runtime/launch/launch-script.ts'
import type { ContainerSpec, UsersSpec } from '#runtime/launch/process-spec.ts'
import { becomeProcess, openTerminal, terminalEnds } from '#runtime/launch/process-steps.ts'
import { enterRoot, openForWriting, openRoot } from '#runtime/launch/root-steps.ts'
import { becomeRoot } from '#runtime/launch/user-steps.ts'

/** The monitor's own descriptors: the file that the end is written to. */
const exitDescriptor = 5
/** What the status descriptor is told: two words, this one first; other first words are the address of a step that failed. */
export const news = { pid: 0n, terminal: 1n, exit: 2n } as const

/** What a monitor writes: how the process ended as the kernel says it, then the time in seconds and nanoseconds. */
export const exitRecordBytes = 24

const sigUser1 = 10
const interrupted = -4
const withRestorer = 0x04000000
const closeStdinSignal = sigUser1
const lockFlags = { exclusive: 2, doNotWait: 4 }
const setStatusFlags = 4
const doNotBlock = 0o4000
const leftoverDescriptor = 11

export function containerScript(spec: ContainerSpec, program: LaunchProgram, architecture: Architecture): LaunchScript {
  const script = new LaunchScript(architecture)
  const { hasTerminal } = spec.process
  // Whoever looks at us from inside must not come by our open files.
  script.call('prctl', [controls.setDumpable, 0, 0, 0, 0])
  script.call('prctl', [controls.setName, 'tn-monitor', 0, 0, 0])
  handleSignal(script, program)
  if (typeof spec.pidNamespace === 'object') joinNamespace(script, spec.pidNamespace.pid, 'pid')
  const ids = script.bytes(Buffer.alloc(16))
  const pid: Place = { kind: 'memory', at: ids.at + 8 }
  const zero = script.word(0)
  const inside = script.later()
  const forksTwice = spec.users !== undefined && spec.pidNamespace === 'own'
  const ownPids = spec.pidNamespace === 'own' && !forksTwice ? cloneFlags.newPid : 0
  const flags = sigChild | ownPids | (hasTerminal ? cloneFlags.files : 0)
  script.call('clone', [flags, 0, 0, 0, 0], { what: 'fork', result: pid })
  script.jumpIfEqual(pid, zero, inside)
  monitor(script, ids, spec, forksTwice ? pid : undefined)
  script.settle(inside)
  contain(script, spec)
  return script
}

export function handleSignal(script: LaunchScript, { handlerAddress, restorerAddress }: LaunchProgram): void {
  const action = Buffer.alloc(32)
  action.writeBigUInt64LE(BigInt(handlerAddress), 0)
  action.writeBigUInt64LE(BigInt(restorerAddress === 0 ? 0 : withRestorer), 8)
  action.writeBigUInt64LE(BigInt(restorerAddress), 16)
  script.call('rt_sigaction', [closeStdinSignal, script.bytes(action), 0, 8])
}

/** A first child that only makes the container is `maker`: it tells of the other one itself. */
function monitor(script: LaunchScript, ids: Place, spec: ContainerSpec, maker: Place | undefined): void {
  const { hasTerminal } = spec.process
  if (maker === undefined) script.call('write', [descriptors.status, ids, 16])
  if (hasTerminal) {
    // The agent lets us go on once the container has files of its own: until then closing one would close the other's.
    script.call('read', [descriptors.status, script.word(), 1])
    script.call('close_range', [terminalEnds.outer + 1, lastDescriptor, 0], { onError: 'next' })
    script.call('close_range', [exitDescriptor + 1, terminalEnds.inner, 0], { onError: 'next' })
  }
  awaitEnd(script, spec, maker)
}

/** Until the container has ended, and that is written down. The end of its maker is not the container's. */
export function awaitEnd(script: LaunchScript, spec: ContainerSpec, maker?: Place): void {
  script.call('close_range', [descriptors.status, descriptors.script, 0])
  const record = script.bytes(Buffer.alloc(exitRecordBytes))
  const outcome = script.word()
  const [again, done, over] = [script.later(), script.later(), script.later()]
  script.settle(again)
  script.call('wait4', [-1, record, 0, 0], { result: outcome, onError: over })
  if (maker !== undefined) script.jumpIfEqual(outcome, maker, again)
  script.jump(done)
  script.settle(over)
  const asked = script.later()
  script.jumpIfEqual(outcome, script.word(interrupted), asked)
  script.call('exit_group', [1])
  script.settle(asked)
  // We were asked to: nobody else will write to the container's input any more.
  script.call('close', [0], { onError: 'next' })
  script.jump(again)
  script.settle(done)
  script.call('clock_gettime', [0, { kind: 'memory', at: record.at + 8 }])
  keepLeftovers(script, spec)
  script.call('write', [exitDescriptor, record, exitRecordBytes])
  script.call('exit_group', [0])
}

/** With an agent there, what is in the pipes stays in them until it has read it; without one it would be gone with us. */
function keepLeftovers(script: LaunchScript, { agentLock, leftovers, process }: ContainerSpec): void {
  const isHeld = script.later()
  const opened = script.call('openat', [here, agentLock, openFlags.writeOnly | openFlags.closeOnExec], { onError: isHeld })
  script.feed(opened, script.call('flock', [0, lockFlags.exclusive | lockFlags.doNotWait], { onError: isHeld }), 0)
  const sources = process.hasTerminal
    ? [{ from: terminalEnds.outer, file: leftovers.stdout }]
    : [
        { from: 1, file: leftovers.stdout },
        { from: 2, file: leftovers.stderr },
      ]
  const buffer = script.bytes(Buffer.alloc(4096))
  for (const { from, file } of sources) {
    const [isEmpty, next] = [script.later(), script.later()]
    script.call('fcntl', [from, setStatusFlags, doNotBlock], { onError: isEmpty })
    const into = script.call('openat', [here, file, openFlags.writeOnly | openFlags.create | openFlags.append, 0o600], { onError: isEmpty })
    script.feed(into, script.call('dup3', [0, leftoverDescriptor, 0], { onError: isEmpty }), 0)
    script.settle(next)
    const read = script.call('read', [from, buffer, 4096], { onError: isEmpty })
    script.feed(read, script.call('write', [leftoverDescriptor, buffer, 0], { onError: isEmpty }), 2)
    script.jump(next)
    script.settle(isEmpty)
  }
  script.settle(isHeld)
}

/** For reading only: who could write to its own input would never find its end. */
export function reopenInput(script: LaunchScript, spec: ContainerSpec): void {
  if (!spec.hasStdin || spec.process.hasTerminal) return
  const opened = script.call('openat', [here, '/proc/self/fd/0', openFlags.readOnly], { what: 'open the input' })
  script.feed(opened, script.call('dup3', [0, 0, 0]), 0)
}

export function enterCgroups(script: LaunchScript, { cgroupRules, cgroupProcs }: ContainerSpec): void {
  for (const { path, text } of cgroupRules) writeFile(script, path, text, { what: `write ${text} to ${path}` })
  for (const path of cgroupProcs) writeFile(script, path, '0', { what: `enter the cgroup ${path}` })
}

function contain(script: LaunchScript, spec: ContainerSpec): void {
  reopenInput(script, spec)
  enterCgroups(script, spec)
  const { oomScoreAdjust } = spec.process
  // What is lower than our own needs a right that root does not have everywhere.
  if (oomScoreAdjust !== undefined) writeFile(script, '/proc/self/oom_score_adj', String(oomScoreAdjust), { onError: 'next' })
  for (const kind of spec.namespaces.joins) joinNamespace(script, spec.namespaces.pid, kind)
  const own = cloneFlags.newMount | (spec.hasCgroupNamespace ? cloneFlags.newCgroup : 0)
  if (spec.users !== undefined) giveToUsers(script, spec, spec.users)
  script.call('unshare', [spec.users === undefined ? own : cloneFlags.newMount], { what: 'make namespaces' })
  const opened = openRoot(script, spec)
  if (spec.users !== undefined) {
    joinUsers(script, spec, spec.users)
    // What is mounted from here on is mounted by the pod's root, with no more rights than that.
    script.call('unshare', [own], { what: 'make namespaces' })
  }
  enterRoot(script, spec, opened)
  if (spec.process.hasTerminal) {
    openTerminal(script)
    script.call('mknodat', [here, '/dev/console', 0o100600, 0], { onError: 'next' })
    script.call('mount', [`/proc/self/fd/${terminalEnds.inner}`, '/dev/console', 0, 0x1000, 0], { onError: 'next' })
    script.call('unshare', [cloneFlags.files])
    script.call('close', [terminalEnds.outer])
    const message = Buffer.alloc(16)
    message.writeBigInt64LE(news.terminal)
    script.call('write', [descriptors.status, script.bytes(message), 16])
  }
  becomeProcess(script, spec.process)
}

/** What the container holds of the node's becomes its own: /dev/stdout can be opened, and groups made where it may. */
function giveToUsers(
  script: LaunchScript,
  { process, hasStdin, isPrivileged, cgroups, cgroupProcs, root }: ContainerSpec,
  users: UsersSpec,
): void {
  const { uid, gid } = users.root
  const pipes = process.hasTerminal ? [] : hasStdin ? [0, 1, 2] : [1, 2]
  for (const descriptor of pipes) script.call('fchown', [descriptor, users.processUid, gid], { what: 'hand over the output' })
  script.call('fchownat', [here, root.upperDirectory, uid, gid, 0], { what: 'hand over the root of the container' })
  const [procs] = cgroupProcs
  if (!isPrivileged || cgroups.version !== 2 || procs === undefined) return
  const group = posix.dirname(procs)
  for (const path of [group, procs, posix.join(group, 'cgroup.subtree_control'), posix.join(group, 'cgroup.threads')])
    script.call('fchownat', [here, path, uid, gid, 0], { onError: 'next' })
}

/**
 * A pid namespace that is to belong to the pod's users must be made by one of them, and the monitor is none: so a child makes it, and forks
 * the container as the monitor's own.
 */
function joinUsers(script: LaunchScript, { pidNamespace, process }: ContainerSpec, { namespacePath }: UsersSpec): void {
  const opened = script.call('openat', [here, namespacePath, openFlags.closeOnExec], { what: 'open the user namespace' })
  script.feed(opened, script.call('setns', [0, cloneFlags.newUser], { what: 'enter the user namespace' }), 0)
  becomeRoot(script)
  if (pidNamespace !== 'own') return
  script.call('unshare', [cloneFlags.newPid], { what: 'make namespaces' })
  const ids = script.bytes(Buffer.alloc(16))
  const pid: Place = { kind: 'memory', at: ids.at + 8 }
  const inside = script.later()
  const flags = sigChild | cloneFlags.parent | (process.hasTerminal ? cloneFlags.files : 0)
  script.call('clone', [flags, 0, 0, 0, 0], { what: 'fork', result: pid })
  script.jumpIfEqual(pid, script.word(0), inside)
  script.call('write', [descriptors.status, ids, 16])
  script.call('exit_group', [0])
  script.settle(inside)
}

function joinNamespace(script: LaunchScript, pid: number, kind: string): void {
  const opened = script.call('openat', [here, `/proc/${pid}/ns/${kind}`, openFlags.closeOnExec], { what: `open the ${kind} namespace` })
  const enter = script.call('setns', [0, 0], { what: `enter the ${kind} namespace` })
  script.feed(opened, enter, 0)
}

export function writeFile(script: LaunchScript, path: string, text: string, options: { what?: string; onError?: 'next' } = {}): void {
  const opened = script.call('openat', [here, path, openForWriting], options)
  // Where it could not be opened there is nothing to write to: -1 is no descriptor, and the failure is that of the opening.
  const write = script.call('write', [-1, text, Buffer.byteLength(text)], options)
  script.feed(opened, write, 0)
}
