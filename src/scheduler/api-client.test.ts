import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLogger } from '#base/log.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { Client } from '#client/client.ts'
import type { Transport } from '#client/transport.ts'
import { schedulerClient } from '#scheduler/api-client.ts'
import type { PodEvent } from '#scheduler/framework/plugin-handle.ts'
import { PodEvents } from '#scheduler/pod-events.ts'
import { aPod } from '#scheduler/testing/objects.ts'

type Sent = { line: string; body: Record<string, unknown> }

function aClient(limit?: { qps: number; burst: number }) {
  const sent: Sent[] = []
  const clock = new VirtualClock('2026-01-01T00:00:00Z')
  const transport: Transport = {
    async send({ method, target, body }) {
      sent.push({ line: `${method} ${target}`, body: body === undefined ? {} : JSON.parse(String(body)) })
      return { status: 200, header: () => undefined, text: async () => '{}', chunks: async function* () {} }
    },
  }
  const client = new Client({ transport, userAgent: 'test' })
  const events = new PodEvents({ client, clock, logger: silentLogger, instance: 'host' })
  return { sent, clock, client: schedulerClient(client, events, clock, limit) }
}

test('a pod is bound by its name and uid', async () => {
  const { sent, client } = aClient()
  await client.bind(aPod('p'), 'a')
  assert.deepEqual(sent, [
    {
      line: 'POST /api/v1/namespaces/default/pods/p/binding',
      body: {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { namespace: 'default', name: 'p', uid: 'default-p' },
        target: { kind: 'Node', name: 'a' },
      },
    },
  ])
})

test('a condition keeps the time of its last change while its status stays', async () => {
  const { sent, client } = aClient()
  const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'm' }
  const pod = aPod('p')
  await client.patchPodStatus(pod, { condition, nominatedNodeName: '' })
  const known = { ...condition, message: 'older', lastTransitionTime: '2025-01-01T00:00:00Z' }
  await client.patchPodStatus({ ...pod, status: { conditions: [known] } }, { condition })
  const [first, second] = sent.map(
    ({ body }) => body['status'] as { conditions: { lastTransitionTime: string }[]; nominatedNodeName?: null },
  )
  assert.equal(sent[0]?.line, 'PATCH /api/v1/namespaces/default/pods/p/status')
  assert.equal(first?.conditions[0]?.lastTransitionTime, '2026-01-01T00:00:00Z')
  assert.equal(first?.nominatedNodeName, null)
  assert.equal(second?.conditions[0]?.lastTransitionTime, '2025-01-01T00:00:00Z')
})

test('the same failure again becomes a series, which is told once and then seldom', async () => {
  const { sent, client, clock } = aClient()
  const event: PodEvent = {
    regarding: aPod('p'),
    type: 'Warning',
    reason: 'FailedScheduling',
    action: 'Scheduling',
    note: 'no',
    reportingController: 'default-scheduler',
  }
  for (let count = 0; count < 10; count++) {
    client.recordEvent(event)
    await clock.advance({ seconds: 10 })
  }
  const verbs = sent.map(({ line }) => line.split(' ')[0])
  assert.deepEqual(verbs, ['POST', 'PATCH'])
  const { reportingController, reportingInstance, action, note } = sent[0]?.body ?? {}
  assert.deepEqual(
    [reportingController, reportingInstance, action, note],
    ['default-scheduler', 'default-scheduler-host', 'Scheduling', 'no'],
  )
  const { count } = (sent[1]?.body['series'] ?? {}) as { count?: number }
  assert.equal(count, 2)
})

test('a configured limit spreads the writes over time', async () => {
  const { sent, client, clock } = aClient({ qps: 10, burst: 5 })
  const writes = Array.from({ length: 20 }, (_, index) => client.deletePod(aPod(`p${index}`)))
  await clock.advance({ seconds: 0 })
  assert.equal(sent.length, 5)
  await clock.advance({ seconds: 1 })
  assert.equal(sent.length, 15)
  await clock.advance({ seconds: 1 })
  await Promise.all(writes)
})
