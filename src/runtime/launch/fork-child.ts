import { sigChild } from '#runtime/launch/kernel-numbers.ts'
import { descriptors } from '#runtime/launch/launch-program.ts'
import type { LaunchScript, Place } from '#runtime/launch/launch-script.ts'

/** What follows is done by a child; its parent says the number of it, does what `beforeEnd` writes, and ends. */
export function forkChild(script: LaunchScript, beforeEnd = () => {}): void {
  const ids = script.bytes(Buffer.alloc(16))
  const pid: Place = { kind: 'memory', at: ids.at + 8 }
  const inside = script.later()
  script.call('clone', [sigChild, 0, 0, 0, 0], { what: 'fork', result: pid })
  script.jumpIfEqual(pid, script.word(0), inside)
  script.call('write', [descriptors.status, ids, 16])
  beforeEnd()
  script.call('exit_group', [0])
  script.settle(inside)
}
