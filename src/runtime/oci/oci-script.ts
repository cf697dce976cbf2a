/**
 * The monitor of a container that another program makes:
 *
 *   monitor   root mounted ──> fork ──> tell how it ended ──────────> wait ──> write down how it ended
 *   runc create                 └──> the container, which is the monitor's child once its maker has ended
 */
import { awaitEnd, enterCgroups, handleSignal, news, reopenInput } from '#runtime/launch/container-script.ts'
import { cloneFlags, controls, lastDescriptor, mountFlags, sigChild } from '#runtime/launch/kernel-numbers.ts'
import { type Architecture, descriptors, type LaunchProgram } from '#runtime/launch/launch-program.ts'
import { LaunchScript, type Place } from '#runtime/launch/launch-script.ts'
import type { ContainerSpec } from '#runtime/launch/process-spec.ts'
import { mountLayers } from '#runtime/launch/root-steps.ts'

const becomeReaper = 36
const closeLater = 4
const detach = 2

export function ociScript(
  spec: ContainerSpec,
  command: { path: string; args: readonly string[]; env: readonly string[]; entersCgroups: boolean },
  program: LaunchProgram,
  architecture: Architecture,
): LaunchScript {
  const script = new LaunchScript(architecture)
  script.call('prctl', [controls.setDumpable, 0, 0, 0, 0])
  script.call('prctl', [controls.setName, 'tn-monitor', 0, 0, 0])
  script.call('prctl', [becomeReaper, 1, 0, 0, 0])
  handleSignal(script, program)
  // The root is mounted for the monitor alone: it is gone with it.
  script.call('unshare', [cloneFlags.newMount], { what: 'make namespaces' })
  script.call('mount', [0, '/', 0, mountFlags.recursive | mountFlags.slave, 0], { what: 'keep mounts to ourselves' })
  // crun refuses to work where it sees both versions of cgroups, though it is to leave them alone.
  if (command.entersCgroups) script.call('umount2', ['/sys/fs/cgroup/unified', detach], { onError: 'next' })
  mountLayers(script, spec, spec.root.mountPoint, spec.root)
  const ids = script.bytes(Buffer.alloc(16))
  const pid: Place = { kind: 'memory', at: ids.at + 8 }
  const zero = script.word(0)
  const [inside, made] = [script.later(), script.later()]
  script.call('clone', [sigChild, 0, 0, 0, 0], { what: 'fork', result: pid })
  script.jumpIfEqual(pid, zero, inside)
  script.call('write', [descriptors.status, ids, 16])
  const ended = Buffer.alloc(16)
  ended.writeBigInt64LE(news.exit)
  const end = script.bytes(ended)
  const outcome: Place = { kind: 'memory', at: end.at + 8 }
  script.call('wait4', [-1, outcome, 0, 0])
  script.call('write', [descriptors.status, end, 16])
  script.jumpIfEqual(outcome, zero, made)
  script.call('exit_group', [1])
  script.settle(made)
  awaitEnd(script, spec)
  script.settle(inside)
  reopenInput(script, spec)
  if (command.entersCgroups) enterCgroups(script, spec)
  script.call('close_range', [descriptors.status, lastDescriptor, closeLater])
  script.call('execve', [command.path, script.texts([command.path, ...command.args]), script.texts(command.env)], {
    what: `exec ${command.path}`,
  })
  return script
}
