import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Node, Pod } from '#api/core/v1/kinds.gen.ts'
import { nodeFiles } from '#base/files.ts'
import type { HttpClient } from '#base/http-client.ts'
import { silentLogger as logger } from '#base/log.ts'
import { nodeProcesses } from '#base/processes.ts'
import { seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { Client } from '#client/client.ts'
import { Kubelet } from '#kubelet/node/kubelet.ts'
import { PodFeed } from '#kubelet/node/pod-feed.ts'
import { AddressRange } from '#kubelet/runtimes/simulated/address-range.ts'
import { SimulatedRuntime } from '#kubelet/runtimes/simulated/simulated-runtime.ts'
import { ChangingPods } from '#kubelet/sources/changing-pods.ts'
import { PodDirectory } from '#kubelet/sources/pod-directory.ts'
import { PodUrl } from '#kubelet/sources/pod-url.ts'
import { type StaticPodOrigin, staticPodsIn } from '#kubelet/sources/static-pod.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const manifest = (name: string, image = 'app:1') => `apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  containers: [{ name: app, image: "${image}" }]
`
const origin: StaticPodOrigin = { source: 'file', node: 'n1', place: '/pods/web.yaml', now: '2026-01-01T00:00:00Z' }

test('a static pod is named after its node, and says where it comes from', () => {
  const [pod] = staticPodsIn(manifest('web'), origin)
  assert.equal(pod?.metadata.name, 'web-n1')
  assert.equal(pod?.metadata.namespace, 'default')
  assert.match(pod?.metadata.uid ?? '', /^[0-9a-f]{32}$/)
  assert.deepEqual(pod?.metadata.annotations, {
    'kubernetes.io/config.hash': pod?.metadata.uid,
    'kubernetes.io/config.seen': '2026-01-01T00:00:00Z',
    'kubernetes.io/config.source': 'file',
  })
  assert.equal(pod?.spec.nodeName, 'n1')
  assert.deepEqual(pod?.spec.tolerations, [{ operator: 'Exists', effect: 'NoExecute' }])
  assert.equal(pod?.spec.restartPolicy, 'Always')
})

test('the same words at the same place give the same pod, others another one', () => {
  const uid = (text: string, place = origin.place) => staticPodsIn(text, { ...origin, place })[0]?.metadata.uid
  assert.equal(uid(manifest('web')), uid(manifest('web')))
  assert.notEqual(uid(manifest('web')), uid(manifest('web', 'app:2')))
  assert.notEqual(uid(manifest('web')), uid(manifest('web'), '/elsewhere'))
})

test('lists are taken, and what is no pod is refused', () => {
  const list = JSON.stringify({
    kind: 'PodList',
    items: [{ kind: 'Pod', metadata: { name: 'a' }, spec: { containers: [{ name: 'c', image: 'i' }] } }],
  })
  assert.deepEqual(
    staticPodsIn(list, { ...origin, source: 'http' }).map(({ metadata }) => metadata.name),
    ['a-n1'],
  )
  assert.throws(() => staticPodsIn('kind: Pod\nmetadata: {}\nspec: {}', origin), /name is needed/)
  assert.throws(() => staticPodsIn('kind: Service\nmetadata: { name: a }', origin), /its kind is Service/)
  assert.throws(() => staticPodsIn('kind: Pod\nmetadata: { name: a }\nspec: { containers: [] }', origin), /invalid pod/)
})

test('what is no file, or too large to be a manifest, keeps no other from being read', async () => {
  const path = await nodeFiles.temporaryDirectory('tn static ')
  const clock = new VirtualClock()
  const files = { ...nodeFiles, watch: () => ({ [Symbol.dispose]() {} }) }
  const directory = new PodDirectory({ path, node: 'n1', files, clock, logger })
  const heard: string[] = []
  directory.follow({ onPod: ({ metadata }) => heard.push(metadata.name ?? ''), onPodGone: () => {} })
  try {
    assert.equal((await nodeProcesses.run('mkfifo', [join(path, 'a-pipe.yaml')])).exitCode, 0)
    writeFileSync(join(path, 'b-large.yaml'), `${manifest('large')}${'#\n'.repeat(6 << 20)}`)
    writeFileSync(join(path, 'file'), manifest('web'))
    await nodeFiles.symlink('file', join(path, 'link'))
    await directory.start()
    assert.deepEqual([...new Set(heard)], ['web-n1'])
  } finally {
    directory.stop()
    rmSync(path, { recursive: true })
  }
})

test('a directory tells what comes and goes; a file that makes no sense leaves the others alone', async () => {
  const path = await nodeFiles.temporaryDirectory('tn static ')
  const clock = new VirtualClock()
  const files = { ...nodeFiles, watch: () => ({ [Symbol.dispose]() {} }) }
  const directory = new PodDirectory({ path, node: 'n1', files, clock, logger })
  const heard: string[] = []
  directory.follow({
    onPod: ({ metadata }) => heard.push(`+${metadata.name}`),
    onPodGone: ({ metadata }) => heard.push(`-${metadata.name}`),
  })
  const settled = async () => {
    await clock.advance(20_000)
    await directory.settled()
  }
  writeFileSync(join(path, 'web.yaml'), manifest('web'))
  writeFileSync(join(path, 'odd.yaml'), 'what is this')
  writeFileSync(join(path, '.hidden.yaml'), manifest('hidden'))
  mkdirSync(join(path, 'folder'))
  await directory.start()
  assert.deepEqual(heard.splice(0), ['+web-n1'])
  await settled()
  assert.deepEqual(heard.splice(0), [])
  writeFileSync(join(path, 'web.yaml'), manifest('web', 'app:2'))
  await settled()
  assert.deepEqual(heard.splice(0), ['-web-n1', '+web-n1'])
  writeFileSync(join(path, 'web.yaml'), 'half a fi')
  await settled()
  assert.deepEqual(heard.splice(0), [])
  rmSync(join(path, 'web.yaml'))
  await settled()
  assert.deepEqual(heard.splice(0), ['-web-n1'])
  directory.stop()
  await nodeFiles.remove(path)
})

test('a URL is asked again and again; while it does not answer, what it said last holds', async () => {
  const clock = new VirtualClock()
  let text = manifest('web')
  let status = 200
  const http: HttpClient = {
    request: async () => ({ status, headers: {}, body: (async function* () {})(), text: async () => text }),
    [Symbol.dispose]() {},
  }
  const url = new PodUrl({ url: 'http://pods', node: 'n1', http, clock, logger })
  const heard: string[] = []
  url.follow({ onPod: ({ metadata }) => heard.push(`+${metadata.name}`), onPodGone: ({ metadata }) => heard.push(`-${metadata.name}`) })
  await url.start()
  status = 500
  await clock.advance(20_000)
  assert.deepEqual(heard.splice(0), ['+web-n1'])
  status = 200
  text = ''
  await clock.advance(20_000)
  assert.deepEqual(heard.splice(0), ['-web-n1'])
  url.stop()
  assert.equal(clock.pending, 0)
})

test('static pods run, and are shown by mirrors that come back, change and go with them', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const { clock } = cluster
  const random = seededRandom(1)
  const client = new Client({ transport: cluster.transportAs('system:node:n1', ['system:nodes']), userAgent: 'kubelet' })
  const runtime = new SimulatedRuntime({ clock, random, addresses: new AddressRange('100.64.0') })
  const source = new ChangingPods()
  const pods = PodFeed.ofNode('n1', { client, clock, random, logger })
  const capacity = { cpu: '4', memory: '8Gi', pods: '110' }
  const info = {
    machineId: 'm',
    kernelVersion: '',
    osImage: '',
    containerRuntimeVersion: '',
    kubeletVersion: '',
    operatingSystem: 'linux',
    architecture: 'amd64',
  }
  const node = { name: 'n1', addresses: ['198.18.0.1'], capacity, allocatable: capacity, info }
  const agent = new Kubelet({ client, clock, random, logger, node, runtime, probes: runtime, pods, staticPods: [source] })
  const [web] = staticPodsIn(manifest('web'), { ...origin, node: 'n1' })
  const [other] = staticPodsIn(manifest('web', 'app:2'), { ...origin, node: 'n1' })
  assert.ok(web !== undefined && other !== undefined)
  source.replace([web])
  const started = pods.start().then(() => agent.start())
  await cluster.advance(2000)
  await started
  await cluster.advance(2000)
  const mirror = await cluster.get(Pod, 'default', 'web-n1')
  assert.equal(mirror.metadata.annotations?.['kubernetes.io/config.mirror'], web.metadata.uid)
  assert.equal(mirror.metadata.ownerReferences?.[0]?.uid, (await cluster.get(Node, '', 'n1')).metadata?.uid)
  assert.equal(mirror.status?.phase, 'Running')

  await cluster.client.delete(Pod, mirror.metadata, { gracePeriodSeconds: 0 })
  await cluster.advance(2000)
  const again = await cluster.get(Pod, 'default', 'web-n1')
  assert.notEqual(again.metadata.uid, mirror.metadata.uid)
  assert.equal(again.status?.phase, 'Running')
  assert.deepEqual(again.status?.containerStatuses?.[0]?.containerID, mirror.status?.containerStatuses?.[0]?.containerID)

  source.replace([other])
  await cluster.advance(5000)
  const changed = await cluster.get(Pod, 'default', 'web-n1')
  assert.equal(changed.metadata.annotations?.['kubernetes.io/config.mirror'], other.metadata.uid)
  assert.equal(changed.spec.containers[0]?.image, 'app:2')
  assert.equal(changed.status?.phase, 'Running')
  assert.deepEqual(await runtime.podUids(), [other.metadata.uid])

  source.replace([])
  await cluster.advance(5000)
  assert.equal(await cluster.find(Pod, 'default', 'web-n1'), undefined)
  assert.deepEqual(await runtime.podUids(), [])
  agent.stop()
  pods.stop()
})
