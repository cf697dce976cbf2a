/** Pods and observations for the tables of this folder. */

import type { V1Pod, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import type { ObservedContainer, ObservedPod, ProbeResults } from '#kubelet/runtimes/runtime.ts'

export const startMs = 1_767_225_600_000

export const aPod = (spec: Partial<V1PodSpec> = {}, metadata: V1Pod['metadata'] = {}): V1Pod =>
  ({
    metadata: { name: 'web', namespace: 'default', uid: 'u1', generation: 1, ...metadata },
    spec: { restartPolicy: 'Always', containers: [{ name: 'app', image: 'app:1' }], ...spec },
  }) as V1Pod

/** `app running`, `app exited 3`, `app created`: latest first; the number of those before is the attempt. */
export function observed(lines: readonly string[], { hasSandbox = true, isReady = true, finishedMs = startMs } = {}): ObservedPod {
  const containers = lines.map((line, index): ObservedContainer => {
    const [name = '', state = '', code = '0'] = line.split(' ')
    const attempt = lines.slice(index + 1).filter((other) => other.startsWith(`${name} `)).length
    return {
      ...{ id: `sim://${name}-${attempt}`, name, attempt, state: state as ObservedContainer['state'], image: 'i', imageId: 'i' },
      createdMs: startMs,
      ...defined({ startedMs: state === 'created' ? undefined : startMs }),
      ...(state === 'exited' ? { finishedMs, exitCode: Number(code) } : {}),
    }
  })
  return { containers, sandboxes: hasSandbox ? [{ id: 's1', isReady, createdMs: startMs, ips: ['100.64.0.2'] }] : [] }
}

export const allWell: ProbeResults = { isStarted: () => true, isReady: () => true }
