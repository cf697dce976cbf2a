/**
 * The life of a container as its two processes lead it:
 *
 *   monitor (of the node)  fork ──> tell the pid ──────────────> wait ──> write down how it ended
 *   container                └──> groups, namespaces, root ──> the program
 *
 * The monitor holds what must outlive the agent: the ends of the container's pipes, its terminal, and the news of its end.
 */
import { cloneFlags, controls, here, lastDescriptor, openFlags, sigChild } from '#runtime/launch/kernel-numbers.ts'
import { type Architecture, descriptors, type LaunchProgram } from '#runtime/launch/launch-program.ts'
import { LaunchScript, type Place } from '#runtime/launch/launch-script.ts'
import type { ContainerSpec } from '#runtime/launch/process-spec.ts'
import { becomeProcess, openTerminal, terminalEnds } from '#runtime/launch/process-steps.ts'
import { enterRoot, openForWriting } from '#runtime/launch/root-steps.ts'

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
  const flags = sigChild | (spec.pidNamespace === 'own' ? cloneFlags.newPid : 0) | (hasTerminal ? cloneFlags.files : 0)
  script.call('clone', [flags, 0, 0, 0, 0], { what: 'fork', result: pid })
  script.jumpIfEqual(pid, zero, inside)
  monitor(script, ids, spec)
  script.settle(inside)
  contain(script, spec)
  return script
}

function handleSignal(script: LaunchScript, { handlerAddress, restorerAddress }: LaunchProgram): void {
  const action = Buffer.alloc(32)
  action.writeBigUInt64LE(BigInt(handlerAddress), 0)
  action.writeBigUInt64LE(BigInt(restorerAddress === 0 ? 0 : withRestorer), 8)
  action.writeBigUInt64LE(BigInt(restorerAddress), 16)
  script.call('rt_sigaction', [closeStdinSignal, script.bytes(action), 0, 8])
}

function monitor(script: LaunchScript, ids: Place, spec: ContainerSpec): void {
  const { hasTerminal } = spec.process
  script.call('write', [descriptors.status, ids, 16])
  if (hasTerminal) {
    // The agent lets us go on once the container has files of its own: until then closing one would close the other's.
    script.call('read', [descriptors.status, script.word(), 1])
    script.call('close_range', [terminalEnds.outer + 1, lastDescriptor, 0], { onError: 'next' })
    script.call('close_range', [exitDescriptor + 1, terminalEnds.inner, 0], { onError: 'next' })
  }
  script.call('close_range', [descriptors.status, descriptors.script, 0])
  const record = script.bytes(Buffer.alloc(exitRecordBytes))
  const outcome = script.word()
  const [again, done, over] = [script.later(), script.later(), script.later()]
  script.settle(again)
  script.call('wait4', [-1, record, 0, 0], { result: outcome, onError: over })
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

function contain(script: LaunchScript, spec: ContainerSpec): void {
  if (spec.hasStdin && !spec.process.hasTerminal) {
    // For reading only: who could write to its own input would never find its end.
    const opened = script.call('openat', [here, '/proc/self/fd/0', openFlags.readOnly], { what: 'open the input' })
    script.feed(opened, script.call('dup3', [0, 0, 0]), 0)
  }
  for (const { path, text } of spec.cgroupRules) writeFile(script, path, text, { what: `write ${text} to ${path}` })
  for (const path of spec.cgroupProcs) writeFile(script, path, '0', { what: `enter the cgroup ${path}` })
  const { oomScoreAdjust } = spec.process
  // What is lower than our own needs a right that root does not have everywhere.
  if (oomScoreAdjust !== undefined) writeFile(script, '/proc/self/oom_score_adj', String(oomScoreAdjust), { onError: 'next' })
  for (const kind of spec.namespaces.joins) joinNamespace(script, spec.namespaces.pid, kind)
  script.call('unshare', [cloneFlags.newMount | (spec.hasCgroupNamespace ? cloneFlags.newCgroup : 0)], { what: 'make namespaces' })
  enterRoot(script, spec)
  if (spec.process.hasTerminal) {
    openTerminal(script)
    script.call('mknodat', [here, '/dev/console', 0o100600, 0], { onError: 'next' })
    script.call('mount', [`/proc/self/fd/${terminalEnds.inner}`, '/dev/console', 0, 0x1000, 0], { onError: 'next' })
    script.call('unshare', [cloneFlags.files])
    script.call('close', [terminalEnds.outer])
    const told = Buffer.alloc(16)
    told.writeBigInt64LE(news.terminal)
    script.call('write', [descriptors.status, script.bytes(told), 16])
  }
  becomeProcess(script, spec.process)
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
