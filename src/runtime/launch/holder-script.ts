/** A process that does nothing but be in the namespaces that it was started in, so that they outlive the agent. */
import { news } from '#runtime/launch/container-script.ts'
import { forkChild } from '#runtime/launch/fork-child.ts'
import { controls, lastDescriptor } from '#runtime/launch/kernel-numbers.ts'
import { type Architecture, descriptors } from '#runtime/launch/launch-program.ts'
import { LaunchScript } from '#runtime/launch/launch-script.ts'

export function holderScript(architecture: Architecture): LaunchScript {
  const script = new LaunchScript(architecture)
  script.call('prctl', [controls.setName, 'tn-namespaces', 0, 0, 0])
  forkChild(script)
  script.call('setsid', [], { onError: 'next' })
  const ready = Buffer.alloc(16)
  ready.writeBigInt64LE(news.exit)
  script.call('write', [descriptors.status, script.bytes(ready), 16])
  script.call('close_range', [0, lastDescriptor, 0], { onError: 'next' })
  const wait = script.here()
  script.call('ppoll', [0, 0, 0, 0, 0], { onError: wait })
  script.jump(wait)
  return script
}
