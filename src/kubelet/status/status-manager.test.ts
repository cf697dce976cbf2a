import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { conflict } from '#api/meta/status-error.ts'
import { silentLogger } from '#base/log.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import type { Client } from '#client/client.ts'
import { StatusManager } from '#kubelet/status/status-manager.ts'

/** A server with one pod, and a watch that tells of its changes only when it is told to. */
function bench() {
  const clock = new VirtualClock()
  let stored: V1Pod = {
    metadata: { namespace: 'default', name: 'web', uid: 'u', resourceVersion: '1' },
    spec: { containers: [] },
    status: { phase: 'Pending' },
  }
  let seen = stored
  const calls: string[] = []
  const client = {
    async get() {
      calls.push('GET')
      return stored
    },
    async updateStatus(_kind: unknown, pod: V1Pod) {
      const isCurrent = pod.metadata.resourceVersion === stored.metadata.resourceVersion
      calls.push(isCurrent ? `PUT ${pod.status?.phase}` : 'refused')
      if (!isCurrent) throw conflict({ group: '', resource: 'pods' }, 'web')
      const resourceVersion = String(Number(stored.metadata.resourceVersion) + 1)
      stored = { ...pod, metadata: { ...pod.metadata, resourceVersion } }
      return stored
    },
  }
  const manager = new StatusManager({ client: client as unknown as Client, clock, logger: silentLogger, knownPod: () => seen })
  manager.start()
  const watch = () => {
    seen = stored
    manager.compare(seen)
  }
  const others = (phase: string) => {
    stored = { ...stored, metadata: { ...stored.metadata, resourceVersion: '100' }, status: { phase } }
  }
  return { clock, manager, calls, watch, others, pod: () => stored }
}

test('a status that follows another one before the watch has told of that is written at once', async () => {
  const { clock, manager, calls, watch, pod } = bench()
  for (const phase of ['Pending', 'Running', 'Succeeded']) {
    manager.tell(pod(), { phase, hostIP: '10.0.0.1' }, false)
    await clock.settle()
  }
  assert.deepEqual(calls, ['PUT Pending', 'PUT Running', 'PUT Succeeded'])
  watch()
  await clock.settle()
  assert.equal(calls.length, 3)
})

test('where somebody else has written meanwhile the object is asked for', async () => {
  const { clock, manager, calls, others, pod } = bench()
  manager.tell(pod(), { phase: 'Running' }, false)
  await clock.settle()
  others('Pending')
  manager.tell(pod(), { phase: 'Succeeded' }, false)
  await clock.settle()
  assert.deepEqual(calls, ['PUT Running', 'refused', 'GET', 'PUT Succeeded'])
})
