/** Quotas over a whole server, with its store: how many get in when all come at once. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Pod, ResourceQuota } from '#api/core/v1/kinds.gen.ts'
import type { V1ResourceQuota } from '#api/core/v1/types.gen.ts'
import { builtInKinds } from '#api/kinds.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { FeatureGates } from '#api/meta/feature-gates.ts'
import { StatusError } from '#api/meta/status-error.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { Scheme } from '#api/scheme.ts'
import { resourceQuota } from '#apiserver/admission/resource-quota/resource-quota.ts'
import { alwaysAllow } from '#apiserver/authz/chain.ts'
import { serverContext } from '#apiserver/registry/registries.ts'
import { ApiServer } from '#apiserver/server.ts'
import { systemClock } from '#base/clock.ts'
import { silentLogger } from '#base/log.ts'
import { seededRandom } from '#base/random.ts'
import { MemoryStore } from '#store/memory/memory-store.ts'

async function startServer(t: TestContext) {
  const { isEnabled } = new FeatureGates()
  const shared = { clock: systemClock, random: seededRandom(7), logger: silentLogger, isEnabled }
  const store = new MemoryStore({ clock: systemClock })
  const server = new ApiServer({
    ...shared,
    store,
    scheme: new Scheme(builtInKinds.filter(({ group, stability }) => group === '' && stability === undefined)),
    authenticator: () => ({ authenticate: () => undefined }),
    authorizer: () => alwaysAllow,
    admissionPlugins: (cluster, authorizer) => [resourceQuota({ ...shared, cluster, authorizer, configuration: undefined })],
    version: {},
    serverAddress: () => '',
  })
  await server.start()
  t.after(async () => {
    server.stop()
    await store.close()
  })
  const contextOf = (resource: string) => ({
    ...serverContext(server.registries.named('', resource).definition, 'ns'),
    skipsAdmission: false,
  })
  return {
    server,
    create(resource: string, object: KubernetesObject) {
      const registry = server.registries.named('', resource)
      registry.definition.defaults?.(object)
      return registry.create(object, contextOf(resource))
    },
    quota: async () => (await server.cluster.getFresh(ResourceQuota, 'ns', 'q')) as V1ResourceQuota,
  }
}

async function withQuota(t: TestContext, hard: Record<string, string>, used: Record<string, string>) {
  const started = await startServer(t)
  await started.create('resourcequotas', { metadata: { name: 'q', namespace: 'ns' }, spec: { hard } } as KubernetesObject)
  const quota = deepCopy(await started.quota())
  await started.server.cluster.replaceStatus(ResourceQuota, { ...quota, status: { hard, used } } as KubernetesObject)
  return started
}

const aPod = (name: string) =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'ns' },
    spec: { containers: [{ name: 'c', image: 'x', resources: { requests: { cpu: '100m' } } }] },
  }) as KubernetesObject

/** How many were let in; every other one must have been refused by the quota. */
async function letIn(creates: Promise<unknown>[]): Promise<number> {
  const outcomes = await Promise.allSettled(creates)
  for (const outcome of outcomes) {
    if (outcome.status === 'fulfilled') continue
    assert.ok(outcome.reason instanceof StatusError, String(outcome.reason))
    assert.match(outcome.reason.message, /is forbidden: exceeded quota: q, requested: /)
  }
  return outcomes.filter(({ status }) => status === 'fulfilled').length
}

test('of 200 creates at once exactly as many get in as the quota has room for', async (t) => {
  const { server, create, quota } = await withQuota(t, { pods: '50', 'requests.cpu': '10' }, { pods: '3', 'requests.cpu': '300m' })
  assert.equal(await letIn(Array.from({ length: 200 }, (_, index) => create('pods', aPod(`p${index}`)))), 47)
  assert.deepEqual((await quota()).status?.used, { pods: '50', 'requests.cpu': '5' })
  assert.equal(server.cluster.list(Pod, 'ns').length, 47)
})

test('the tightest of several limits decides', async (t) => {
  const { create, quota } = await withQuota(t, { pods: '1k', 'requests.cpu': '2' }, { pods: '0', 'requests.cpu': '0' })
  assert.equal(await letIn(Array.from({ length: 200 }, (_, index) => create('pods', aPod(`p${index}`)))), 20)
  assert.deepEqual((await quota()).status?.used, { pods: '20', 'requests.cpu': '2' })
})

test('the count holds while somebody else writes the quota all the time', async (t) => {
  const { server, create, quota } = await withQuota(t, { pods: '30' }, { pods: '0' })
  const { cluster } = server
  let isOver = false
  let disturbances = 0
  const disturb = async () => {
    while (!isOver) {
      const current = deepCopy(await quota())
      current.metadata.annotations = { turn: String(++disturbances) }
      await cluster.replaceStatus(ResourceQuota, current as KubernetesObject).catch(() => undefined)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const disturbing = disturb()
  let accepted = 0
  for (let wave = 0; wave < 10; wave++) {
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, (_, index) => create('pods', aPod(`p${wave}-${index}`))))
    accepted += outcomes.filter(({ status }) => status === 'fulfilled').length
  }
  isOver = true
  await disturbing
  assert.ok(disturbances > 0)
  assert.equal(server.cluster.list(Pod, 'ns').length, accepted)
  assert.ok(accepted <= 30, `${accepted} of 30 got in`)
  assert.equal((await quota()).status?.used?.['pods'], String(accepted))
})

test('services are counted by what they ask of nodes', async (t) => {
  const { create } = await withQuota(t, { 'services.loadbalancers': '2' }, { 'services.loadbalancers': '0' })
  const service = (name: string) =>
    ({
      metadata: { name, namespace: 'ns' },
      spec: { type: 'LoadBalancer', ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }], selector: { a: 'b' }, sessionAffinity: 'None' },
    }) as KubernetesObject
  const outcomes = await Promise.allSettled(['a', 'b', 'c', 'd'].map((name) => create('services', service(name))))
  const refusals = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason.message)] : []))
  assert.equal(
    refusals.filter((message) => message.includes('exceeded quota: q, requested: services.loadbalancers=1')).length,
    2,
    refusals.join('\n'),
  )
})
