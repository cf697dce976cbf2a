/** Does what pods with users of their own need, and ends: the kernel may be built without it, or forbid it here. */
import { forkChild } from '#runtime/launch/fork-child.ts'
import { cloneFlags, controls, mountFlags } from '#runtime/launch/kernel-numbers.ts'
import type { Architecture } from '#runtime/launch/launch-program.ts'
import { LaunchScript } from '#runtime/launch/launch-script.ts'
import { kernelFiles } from '#runtime/launch/root-steps.ts'
import { makeUsers } from '#runtime/launch/user-steps.ts'

const safe = mountFlags.noSuid | mountFlags.noDev | mountFlags.noExec

export function usersProbeScript(architecture: Architecture): LaunchScript {
  const script = new LaunchScript(architecture)
  script.call('prctl', [controls.setDumpable, 0, 0, 0, 0])
  makeUsers(script)
  const { newMount, newNet, newIpc, newUts, newPid, newCgroup } = cloneFlags
  script.call('unshare', [newMount | newNet | newIpc | newUts | newPid | newCgroup], { what: 'make namespaces' })
  forkChild(script)
  kernelFiles(script, 'proc', safe)
  kernelFiles(script, 'sysfs', safe | mountFlags.readOnly)
  script.call('exit_group', [0])
  return script
}
