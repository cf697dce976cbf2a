import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HttpClient, HttpClientRequest } from '#base/http-client.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import type { ConfiguredExtender } from '#scheduler/config/configuration.ts'
import { httpExtender } from '#scheduler/extender/http-extender.ts'
import { FakeCluster } from '#scheduler/testing/fake-cluster.ts'
import { aNode, aPod } from '#scheduler/testing/objects.ts'

type Asked = { url: string; body: Record<string, unknown> }

function answering(answers: Record<string, (body: Record<string, unknown>) => unknown>, asked: Asked[] = []): Pick<HttpClient, 'request'> {
  return {
    async request({ url, body }: HttpClientRequest) {
      const verb = url.slice(url.lastIndexOf('/') + 1)
      const parsed = JSON.parse(String(body)) as Record<string, unknown>
      asked.push({ url, body: parsed })
      const answer = answers[verb]?.(parsed)
      const text = answer === undefined ? '' : JSON.stringify(answer)
      return { status: answer === 'broken' ? 500 : 200, headers: {}, body: (async function* () {})(), text: async () => text }
    },
  }
}

const configured: ConfiguredExtender = {
  urlPrefix: 'http://extender/v1',
  filterVerb: 'filter',
  prioritizeVerb: 'prioritize',
  nodeCacheCapable: true,
}
const extending = (more: Partial<ConfiguredExtender>, answers: Parameters<typeof answering>[0], asked: Asked[] = []) =>
  new FakeCluster({ extenders: [httpExtender({ ...configured, ...more }, answering(answers, asked), new VirtualClock())] })

test('an extender narrows the choice and adds its scores', async () => {
  const asked: Asked[] = []
  await using cluster = extending(
    {},
    {
      filter: () => ({ NodeNames: ['a', 'b'], FailedNodes: { c: 'not mine' } }),
      prioritize: () => [
        { Host: 'a', Score: 0 },
        { Host: 'b', Score: 10 },
      ],
    },
    asked,
  )
  cluster.put('Node', aNode('a'), aNode('b'), aNode('c'))
  cluster.put('Pod', aPod('p'))
  await cluster.settle()
  assert.deepEqual(cluster.placements(), { p: 'b' })
  assert.deepEqual(
    asked.map(({ url }) => url),
    ['http://extender/v1/filter', 'http://extender/v1/prioritize'],
  )
  assert.deepEqual(new Set(asked.at(-1)?.body['NodeNames'] as string[]), new Set(['a', 'b']))
})

test('why an extender turned nodes down is told, in whatever case it answers', async () => {
  await using cluster = extending({}, { filter: () => ({ nodenames: [], failedNodes: { a: 'no licence left' } }) })
  cluster.put('Node', aNode('a'))
  cluster.put('Pod', aPod('p'))
  await cluster.settle()
  assert.match(cluster.notes('FailedScheduling')[0] ?? '', /^0\/1 nodes are available: 1 no licence left\./)
})

test('a broken extender is an error, unless it may be ignored', async () => {
  for (const ignorable of [false, true]) {
    await using cluster = extending({ ignorable }, { filter: () => 'broken', prioritize: () => 'broken' })
    cluster.put('Node', aNode('a'))
    cluster.put('Pod', aPod('p'))
    await cluster.settle()
    assert.deepEqual(cluster.placements(), { p: ignorable ? 'a' : undefined })
    if (!ignorable) assert.equal(cluster.pod('p').status?.conditions?.[0]?.reason, 'SchedulerError')
  }
})

test('an extender that manages resources is asked only about pods that use them, and may bind these itself', async () => {
  const asked: Asked[] = []
  const more = {
    managedResources: [{ name: 'example.com/fpga', ignoredByScheduler: true }],
    bindVerb: 'bind',
    filterVerb: '',
    prioritizeVerb: '',
  }
  const extender = httpExtender({ ...configured, ...more }, answering({ bind: () => ({}) }, asked), new VirtualClock())
  await using cluster = new FakeCluster({ extenders: [extender], configuration: { extenders: [{ ...configured, ...more }] } })
  cluster.put('Node', aNode('a'))
  cluster.put('Pod', aPod('plain'), aPod('special', { requests: { 'example.com/fpga': '1' } }))
  await cluster.settle()
  assert.equal(cluster.placements()['plain'], 'a')
  assert.deepEqual(
    asked.map(({ body }) => [body['PodName'], body['Node']]),
    [['special', 'a']],
  )
})

test('an extender has a say in who is preempted', async () => {
  const more = { filterVerb: '', prioritizeVerb: '', preemptVerb: 'preempt' }
  await using cluster = extending(more, {
    preempt: ({ NodeNameToMetaVictims: victims }) => ({ NodeNameToMetaVictims: { a: (victims as Record<string, unknown>)['a'] } }),
  })
  cluster.put('Node', aNode('a', { cpu: '2' }), aNode('b', { cpu: '2' }))
  cluster.put('Pod', aPod('one', { cpu: '2', priority: 5, on: 'a' }), aPod('two', { cpu: '2', priority: 1, on: 'b' }))
  cluster.put('Pod', aPod('high', { cpu: '2', priority: 10 }))
  await cluster.settle()
  assert.equal(cluster.placements()['high'], 'a')
})
