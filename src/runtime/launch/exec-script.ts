/** A further process in a container that runs: its parent stays outside and tells how it ended. */

import { news } from '#runtime/launch/container-script.ts'
import { forkChild } from '#runtime/launch/fork-child.ts'
import { cloneFlags, controls, here, lastDescriptor } from '#runtime/launch/kernel-numbers.ts'
import { type Architecture, descriptors } from '#runtime/launch/launch-program.ts'
import { LaunchScript } from '#runtime/launch/launch-script.ts'
import type { ProcessSpec } from '#runtime/launch/process-spec.ts'
import { becomeProcess, openTerminal } from '#runtime/launch/process-steps.ts'
import { openForWriting } from '#runtime/launch/root-steps.ts'
import { becomeRoot } from '#runtime/launch/user-steps.ts'

const namespaceFlags = {
  ...{ mount: cloneFlags.newMount, uts: cloneFlags.newUts, ipc: cloneFlags.newIpc, pid: cloneFlags.newPid, net: cloneFlags.newNet },
  ...{ cgroup: cloneFlags.newCgroup, user: cloneFlags.newUser },
} as const

export type ExecSpec = {
  process: ProcessSpec
  pid: number
  cgroupProcs: readonly string[]
  /** What the container does not share with the node. */
  namespaces: readonly (keyof typeof namespaceFlags)[]
}

export function execScript({ process, pid, cgroupProcs, namespaces }: ExecSpec, architecture: Architecture): LaunchScript {
  const script = new LaunchScript(architecture)
  script.call('prctl', [controls.setDumpable, 0, 0, 0, 0])
  const groups = cgroupProcs.map((path) => script.call('openat', [here, path, openForWriting], { what: `open ${path}` }))
  const process0 = script.call('pidfd_open', [pid, 0], { what: 'find the container' })
  const kinds = namespaces.reduce((all, kind) => all | namespaceFlags[kind], 0)
  // Before the mounts change: the score is written by the node's path.
  if (process.oomScoreAdjust !== undefined) {
    const opened = script.call('openat', [here, '/proc/self/oom_score_adj', openForWriting], { onError: 'next' })
    const text = String(process.oomScoreAdjust)
    script.feed(opened, script.call('write', [-1, text, text.length], { onError: 'next' }), 0)
  }
  script.feed(process0, script.call('setns', [0, kinds], { what: 'enter the container' }), 0)
  if (namespaces.includes('user')) becomeRoot(script)
  if (process.hasTerminal) openTerminal(script)
  forkChild(script, () => {
    if (process.hasTerminal) {
      const message = Buffer.alloc(16)
      message.writeBigInt64LE(news.terminal)
      script.call('write', [descriptors.status, script.bytes(message), 16])
      script.call('read', [descriptors.status, script.word(), 1])
    }
    script.call('close_range', [descriptors.script, lastDescriptor, 0])
    script.call('close_range', [0, 2, 0])
    const ended = Buffer.alloc(16)
    ended.writeBigInt64LE(news.exit)
    const end = script.bytes(ended)
    script.call('wait4', [-1, { kind: 'memory', at: end.at + 8 }, 0, 0])
    script.call('write', [descriptors.status, end, 16])
  })
  for (const group of groups) script.feed(group, script.call('write', [0, '0', 1], { what: 'enter the cgroup' }), 0)
  becomeProcess(script, process)
  return script
}
