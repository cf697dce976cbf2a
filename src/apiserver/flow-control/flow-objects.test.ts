import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1FlowSchema } from '#api/flowcontrol/v1/types.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import type { DynamicView } from '#apiserver/cluster-view/dynamic-view.ts'
import type { InProcessRequest } from '#apiserver/http/in-process-exchange.ts'
import { recordingLogger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { FlowControl } from './flow-control.ts'
import { FlowMetrics } from './flow-metrics.ts'
import { followFlowObjects } from './flow-objects.ts'

/** A cluster with nothing but flow objects, that takes statuses as the server does. */
function cluster() {
  const clock = new VirtualClock('2026-01-31T12:00:00Z')
  const objects = { flowschemas: new Map<string, KubernetesObject>(), prioritylevelconfigurations: new Map<string, KubernetesObject>() }
  type Resource = keyof typeof objects
  const watchers: { resource: string; callback(): void }[] = []
  const put = (resource: Resource, name: string, spec: unknown) => {
    const status = (objects[resource].get(name) as V1FlowSchema | undefined)?.status
    objects[resource].set(name, { metadata: { name, uid: name }, spec, status } as KubernetesObject)
    changed(resource)
  }
  const changed = (resource: string) => {
    for (const watcher of watchers) if (watcher.resource === resource) watcher.callback()
  }
  const requests: InProcessRequest[] = []
  const flowControl = new FlowControl({ clock, metrics: new FlowMetrics(new Metrics()), serverSeats: 10, waitLimitMs: 1000 })
  const following = followFlowObjects({
    cluster: new ClusterView({
      list: (_group, resource) => [...objects[resource as Resource].values()],
      onChange(_group, resource, callback) {
        const watcher = { resource, callback: () => callback({} as KubernetesObject, false) }
        watchers.push(watcher)
        return { [Symbol.dispose]: () => void watchers.splice(watchers.indexOf(watcher), 1) }
      },
    } as Partial<DynamicView> as DynamicView),
    flowControl,
    clock,
    logger: recordingLogger([]),
    async send(request) {
      requests.push(request)
      const { metadata, status } = JSON.parse(String(request.body)) as V1FlowSchema
      Object.assign(objects.flowschemas.get(metadata?.name ?? '') ?? {}, { status })
      changed('flowschemas')
      return { status: 200, headers: {}, body: undefined, async *chunks() {} }
    },
  })
  const condition = (name: string) => (objects.flowschemas.get(name) as V1FlowSchema).status?.conditions?.[0]
  return { clock, put, requests, flowControl, following, condition, watchers }
}

const limited = { type: 'Limited', limited: { nominalConcurrencyShares: 10, limitResponse: { type: 'Reject' } } }
const schema = (level: string) => ({ priorityLevelConfiguration: { name: level } })

test('a schema without its level is told so, and told again when the level appears', async () => {
  const { clock, put, requests, condition } = cluster()
  put('flowschemas', 'a', schema('later'))
  await clock.advance({ seconds: 1 })
  assert.deepEqual(condition('a'), {
    type: 'Dangling',
    status: 'True',
    lastTransitionTime: '2026-01-31T12:00:00Z',
    reason: 'NotFound',
    message: 'This FlowSchema references the PriorityLevelConfiguration object named "later" but there is no such object',
  })
  put('prioritylevelconfigurations', 'later', limited)
  await clock.advance({ seconds: 1 })
  assert.equal(condition('a')?.status, 'False')
  assert.equal(condition('a')?.reason, 'Found')
  assert.equal(requests.length, 2)
  assert.match(requests[0]?.target ?? '', /flowschemas\/a\/status\?fieldManager=api-priority-and-fairness-config-consumer-v1&force=true$/)
})

test('what the status says already is not written again', async () => {
  const { clock, put, requests } = cluster()
  put('prioritylevelconfigurations', 'l', limited)
  put('flowschemas', 'a', schema('l'))
  await clock.advance({ seconds: 1 })
  put('flowschemas', 'a', { ...schema('l'), matchingPrecedence: 7 })
  await clock.advance({ seconds: 1 })
  assert.equal(requests.length, 1)
  assert.equal(clock.pending, 0, 'nothing is left to do')
})

test('flow control follows its objects until it is told to stop', async () => {
  const { clock, put, flowControl, following, watchers } = cluster()
  put('prioritylevelconfigurations', 'l', limited)
  put('flowschemas', 'a', schema('l'))
  await clock.advance(1)
  assert.deepEqual(
    flowControl.schemas.map(({ name }) => name),
    ['a'],
  )
  assert.equal(flowControl.levels.get('l')?.share.nominal, 10)
  following[Symbol.dispose]()
  assert.equal(watchers.length, 0)
})
