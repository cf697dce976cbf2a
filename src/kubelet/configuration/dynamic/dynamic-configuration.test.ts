import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigMap, Node } from '#api/core/v1/kinds.gen.ts'
import type { V1NodeConfigStatus } from '#api/core/v1/types.gen.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import { seededRandom } from '#base/random.ts'
import { Client } from '#client/client.ts'
import { DynamicConfiguration } from '#kubelet/configuration/dynamic/dynamic-configuration.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const head = 'kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n'
const source = { configMap: { namespace: 'kube-system', name: 'config', kubeletConfigKey: 'kubelet' } }

/** A node, and a kubelet that is started again whenever it asks for it. */
async function cluster(maxPods: string) {
  await using stack = new AsyncDisposableStack()
  const fake = await FakeCluster.start({ withoutNodes: true, featureGates: ['DynamicKubeletConfig=true'] })
  stack.use(fake)
  const directory = await nodeFiles.temporaryDirectory('tn config ')
  stack.defer(() => nodeFiles.remove(directory))
  await fake.client.create(Node, { metadata: { name: 'n1' }, spec: {} })
  await fake.client.create(ConfigMap, {
    metadata: { namespace: 'kube-system', name: 'config' },
    data: { kubelet: `${head}maxPods: ${maxPods}` },
  })
  const client = new Client({ transport: fake.transportAs('system:node:n1', ['system:nodes']), userAgent: 'kubelet' })
  const messages: string[] = []
  let following: Disposable | undefined
  let metrics = new Metrics()
  let starting: Promise<void> | undefined
  const state = { dynamic: undefined as unknown as DynamicConfiguration, maxPods: undefined as number | undefined, starts: 0 }
  const start = async () => {
    following?.[Symbol.dispose]()
    metrics = new Metrics()
    state.dynamic = new DynamicConfiguration({ directory, nodeName: 'n1', files: nodeFiles, clock: fake.clock, logger: silentLogger })
    state.maxPods = (await state.dynamic.choose())?.maxPods
    state.starts++
    const restart = (message: string) => {
      messages.push(message)
      starting = start()
    }
    following = state.dynamic.follow({ client, random: seededRandom(1), metrics, restart, onStatus: () => {} })
  }
  stack.defer(async () => {
    following?.[Symbol.dispose]()
    await starting
    following?.[Symbol.dispose]()
    await state.dynamic.settled()
  })
  await start()
  const held = stack.move()
  /** Files take their own time, whatever the clock says. */
  const until = (holds: () => boolean) =>
    fake.until(async () => {
      await state.dynamic.settled()
      await starting
      await state.dynamic.settled()
      return holds()
    })
  return { fake, state, messages, until, metrics: () => metrics.text(), start, [Symbol.asyncDispose]: () => held.disposeAsync() }
}

test('a node that names a config map has its kubelet start again with what that says, and once more when it changes', async () => {
  await using kubelet = await cluster('33')
  const { fake, state, messages } = kubelet
  assert.equal(state.maxPods, undefined)
  assert.equal(state.dynamic.status, undefined)
  await fake.client.patch(Node, { name: 'n1' }, { spec: { configSource: source } }, { type: 'merge' })
  await kubelet.until(() => state.maxPods === 33)
  assert.match(
    messages[0] ?? '',
    /^Kubelet restarting to use \/api\/v1\/namespaces\/kube-system\/configmaps\/config, UID: \S+, ResourceVersion: \d+, KubeletConfigKey: kubelet$/,
  )
  const { assigned, active, lastKnownGood, error } = state.dynamic.status ?? ({} as V1NodeConfigStatus)
  assert.equal(assigned?.configMap?.name, 'config')
  assert.deepEqual(active, assigned)
  assert.equal(lastKnownGood, undefined)
  assert.equal(error, undefined)
  assert.match(
    kubelet.metrics(),
    /kubelet_node_config_active\{.*node_config_source="\/api\/v1\/namespaces\/kube-system\/configmaps\/config"/,
  )

  await fake.client.patch(
    ConfigMap,
    { namespace: 'kube-system', name: 'config' },
    { data: { kubelet: `${head}maxPods: 44` } },
    { type: 'merge' },
  )
  await kubelet.until(() => state.maxPods === 44)
  assert.equal(state.starts, 3)
})

test('what has been in use for ten minutes is the last good one, to which a kubelet returns from one that makes no sense', async () => {
  await using kubelet = await cluster('33')
  const { fake, state } = kubelet
  await fake.client.patch(Node, { name: 'n1' }, { spec: { configSource: source } }, { type: 'merge' })
  await kubelet.until(() => state.maxPods === 33)
  await fake.advance({ seconds: 590 })
  assert.equal(state.dynamic.status?.lastKnownGood, undefined)
  await fake.advance({ seconds: 30 })
  await kubelet.until(() => state.dynamic.status?.lastKnownGood !== undefined)
  const good = state.dynamic.status?.active

  for (const [text, error] of [
    [`${head}maxPodz: 1`, 'failed to load config, see Kubelet log for details'],
    [`${head}maxPods: -1`, 'failed to validate config, see Kubelet log for details'],
  ]) {
    const before = state.starts
    await fake.client.patch(ConfigMap, { namespace: 'kube-system', name: 'config' }, { data: { kubelet: text } }, { type: 'merge' })
    await kubelet.until(() => state.starts > before && state.dynamic.status?.error !== undefined)
    assert.equal(state.maxPods, 33)
    assert.deepEqual(state.dynamic.status?.active, good)
    assert.notDeepEqual(state.dynamic.status?.assigned, good)
    assert.equal(state.dynamic.status?.error, error)
    assert.match(kubelet.metrics(), /kubelet_node_config_error 1/)
  }

  await fake.client.patch(Node, { name: 'n1' }, { spec: { configSource: null } }, { type: 'merge' })
  await kubelet.until(() => state.dynamic.status === undefined)
  assert.equal(state.maxPods, undefined)
  assert.equal(kubelet.messages.at(-1), 'Kubelet restarting to use local config')
})

test('a config map that is not there is told in the status, and found when it comes', async () => {
  await using kubelet = await cluster('33')
  const { fake, state } = kubelet
  const missing = { configMap: { ...source.configMap, name: 'later' } }
  await fake.client.patch(Node, { name: 'n1' }, { spec: { configSource: missing } }, { type: 'merge' })
  await kubelet.until(() => state.dynamic.status?.error === 'failed to sync: failed to download config, see Kubelet log for details')
  assert.equal(state.starts, 1)
  await fake.client.create(ConfigMap, { metadata: { namespace: 'kube-system', name: 'later' }, data: { kubelet: `${head}maxPods: 55` } })
  await kubelet.until(() => state.maxPods === 55)
  assert.equal(state.dynamic.status?.error, undefined)
})
