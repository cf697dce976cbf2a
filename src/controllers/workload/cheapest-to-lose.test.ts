import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { formatTime } from '#api/meta/time.ts'
import { cheapestToLose } from '#controllers/workload/cheapest-to-lose.ts'

const nowMs = Date.UTC(2030, 0, 1)
const secondMs = 1000

type Traits = { node?: string; phase?: string; readyForMs?: number; cost?: string; restarts?: number; ageMs?: number }

function pod(name: string, { node = 'one', phase = 'Running', readyForMs, cost, restarts = 0, ageMs = 100 * secondMs }: Traits): V1Pod {
  const annotations = cost === undefined ? {} : { 'controller.kubernetes.io/pod-deletion-cost': cost }
  const lastTransitionTime = formatTime(nowMs - (readyForMs ?? 0))
  return {
    metadata: { name, uid: name, annotations, creationTimestamp: formatTime(nowMs - ageMs) },
    spec: { containers: [], ...(node === '' ? {} : { nodeName: node }) },
    status: {
      phase,
      conditions: readyForMs === undefined ? [] : [{ type: 'Ready', status: 'True', lastTransitionTime }],
      containerStatuses: [{ name: 'main', image: '', imageID: '', ready: true, restartCount: restarts }],
    },
  }
}

test('those go first that do the least, or have done it for the shortest time', () => {
  const hour = 3600 * secondMs
  const inOrder = [
    pod('unplaced', { node: '', phase: 'Pending' }),
    pod('pending', { phase: 'Pending' }),
    pod('unknown', { phase: 'Unknown' }),
    pod('not ready', {}),
    pod('cheap', { readyForMs: hour, cost: '-5' }),
    pod('crowded', { node: 'two', readyForMs: hour }),
    pod('ready since now', { readyForMs: secondMs }),
    pod('restarted', { readyForMs: hour, restarts: 3 }),
    pod('young', { readyForMs: hour, ageMs: secondMs }),
    pod('z old', { readyForMs: hour, ageMs: 100 * hour }),
    pod('dear', { readyForMs: hour, cost: '7' }),
  ]
  const company = ['a', 'b'].map((name) => pod(name, { node: 'two' }))
  const shuffled = [...inOrder].sort((one, other) => ((one.metadata.name ?? '') < (other.metadata.name ?? '') ? -1 : 1))
  const names = (count: number) => cheapestToLose(shuffled, company, count, nowMs).map(({ metadata }) => metadata.name)
  assert.deepEqual(
    names(inOrder.length - 1),
    inOrder.slice(0, -1).map(({ metadata }) => metadata.name),
  )
  assert.deepEqual(names(1), ['unplaced'])
  assert.equal(names(100).length, inOrder.length)
})
