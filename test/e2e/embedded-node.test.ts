/** Pods without any container runtime installed, as the real kubectl sees them. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { systemClock } from '#base/clock.ts'
import { grpcChannel } from '#base/grpc.ts'
import { aDevice, TestDevicePlugin } from '#kubelet/devices/testing/test-device-plugin.ts'
import { TestDraDriver } from '#kubelet/dra/testing/test-dra-driver.ts'
import { podResourcesMethods } from '#wire/kubelet/pod-resources-messages.ts'
import { startDockerRegistry, whyNoRegistry } from '../support/docker-registry.ts'
import { whyNoEmbedded } from '../support/embedded.ts'
import { installedKubectls, type Kubectl, portForward } from '../support/kubectl.ts'
import { leftOf, type RealCluster, startRealCluster } from '../support/real-cluster.ts'
import { readableByOthers, statusOf, strangersPair } from './node-security/kubelet-port.ts'
import { seesImages, seesVolumes, storageManifest } from './storage/volume-table.ts'

const installed = installedKubectls()
const chosen = installed.at(-1)
const whyNot = whyNoEmbedded() || (chosen === undefined ? 'kubectl is not installed' : false)
const manifest = readFileSync(join(import.meta.dirname, 'real-node', 'everything.yaml'), 'utf8')

const deviceManifest = `
apiVersion: v1
kind: Pod
metadata: {name: with-device}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: host, command: [sleep, "1000"], resources: {limits: {example.com/dev: 1}}}
`

const claimManifest = `
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-gpus}
spec:
  driver: gpu.example.com
  nodeName: NODE
  pool: {name: pool, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: gpu-0, attributes: {memory: {int: 1}}}
  - {name: gpu-1, attributes: {memory: {int: 2}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: big-gpu}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly:
          deviceClassName: gpu.example.com
          selectors: [{cel: {expression: "device.attributes['gpu.example.com'].memory == 2"}}]
---
apiVersion: v1
kind: Pod
metadata: {name: with-claim}
spec:
  terminationGracePeriodSeconds: 1
  resourceClaims: [{name: device, resourceClaimTemplateName: big-gpu}]
  containers:
  - {name: main, image: host, command: [sleep, "1000"], resources: {claims: [{name: device}]}}
`

/** Two pods at most, busy until a file says that there is no more work; each may use a tenth of a core. */
const busyManifest = (work: string): string => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: busy}
spec:
  selector: {matchLabels: {app: busy}}
  template:
    metadata: {labels: {app: busy}}
    spec:
      terminationGracePeriodSeconds: 0
      volumes: [{name: work, hostPath: {path: ${JSON.stringify(work)}, type: Directory}}]
      containers:
      - name: main
        image: host
        command: [sh, -c, "while :; do [ ! -e /tmp/work/done ] || sleep 1; done"]
        resources: {requests: {cpu: 50m}, limits: {cpu: 100m}}
        volumeMounts: [{name: work, mountPath: /tmp/work}]
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: busy}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: busy}
  minReplicas: 1
  maxReplicas: 2
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}]
  behavior: {scaleDown: {stabilizationWindowSeconds: 0}}
`

describe('a cluster that runs containers itself', { skip: whyNot, timeout: 600_000 }, () => {
  let cluster: RealCluster
  let kubectl: Kubectl

  before(async () => {
    cluster = await startRealCluster({ flags: ['--runtime', 'embedded'] })
    kubectl = cluster.kubectlAt(chosen?.path ?? '')
  })
  after(() => cluster?.[Symbol.asyncDispose]())

  const ok = (args: readonly string[], input?: string): string => {
    const { exitCode, stdout, stderr } = kubectl.run(args, input === undefined ? {} : { input })
    const why = () => `${stderr}\n${kubectl.run(['get', 'events,pods,pvc']).stdout}\n${cluster.process.output()}`
    assert.equal(exitCode, 0, exitCode === 0 ? '' : `kubectl ${args.join(' ')}: ${why()}`)
    return stdout
  }
  const podNow = (name: string) => JSON.parse(ok(['get', 'pod', name, '-o', 'json'])) as V1Pod
  const identityOf = ({ status }: V1Pod) => [
    status?.podIP,
    status?.containerStatuses?.map(({ containerID, restartCount }) => [containerID, restartCount]),
  ]

  test('a first pod needs no network and no image: the machine itself is one', async () => {
    ok(['wait', '--for=condition=Ready', 'node', '--all', '--timeout=120s'])
    assert.match(ok(['get', 'nodes', '-o', 'jsonpath={.items[0].status.nodeInfo.containerRuntimeVersion}']), /^typernetes:\/\//)
    ok([
      'run',
      'first',
      '--image=host',
      '--',
      'sh',
      '-c',
      'echo hello from $(hostname); i=0; while true; do echo tick $((i+=1)); sleep 0.1; done',
    ])
    ok(['wait', '--for=condition=Ready', 'pod/first', '--timeout=120s'])
    await until(() => /^hello from first\ntick 1\n/.test(kubectl.run(['logs', 'first']).stdout))
    assert.equal(ok(['exec', '-i', 'first', '--', 'cat'], 'by way of stdin'), 'by way of stdin')
    assert.equal(kubectl.run(['exec', 'first', '--', 'sh', '-c', 'exit 7']).exitCode, 7)
  })

  // What an autoscaler does takes its time: it goes on beside the tests that follow, and is looked at between them.
  const work = () => join(cluster.directory, 'work')
  const rescales = () => ok(['get', 'events', '--field-selector', 'reason=SuccessfulRescale', '-o', 'jsonpath={.items[*].message}'])
  test('a busy pod is given an autoscaler', () => {
    mkdirSync(work())
    ok(['create', '-f', '-'], busyManifest(work()))
    ok(['wait', '--for=condition=Available', 'deployment/busy', '--timeout=120s'])
  })

  test('a pod with init containers, a sidecar, probes, hooks, variables and volumes runs, and is reached', async () => {
    const kept = join(cluster.directory, 'kept')
    mkdirSync(kept)
    ok(['create', '-f', '-'], manifest.replace('KEPT', JSON.stringify(kept)))
    ok(['wait', '--for=condition=Ready', 'pod/everything', '--timeout=120s'])
    const seen = (script: string) => ok(['exec', 'everything', '-c', 'main', '--', 'sh', '-c', script])
    assert.equal(seen('cat /shared/order'), 'first\nbeside\nsecond\n')
    assert.equal(seen('cat /settings/file.txt /only/file.txt /mixed/greeting'), 'from a config mapfrom a config maphello')
    assert.equal(seen('stat -c %a%g /hidden/..data/password'), '4402000\n')
    const by = { path: chosen?.path ?? '', kubeconfig: join(cluster.dataDir, 'admin.kubeconfig') }
    await using forward = await portForward(by, 'pod/everything', 'http')
    assert.equal(await (await fetch(`${forward.url}/order`)).text(), 'first\nbeside\nsecond\n')
  })

  test('claims, snapshots, clones, disks and images as volumes', { skip: whyNoRegistry() }, async () => {
    ok(['apply', '-f', '-'], storageManifest('claims.yaml'))
    ok(['rollout', 'status', 'sts/db', '--timeout=180s'])
    await using registry = await startDockerRegistry()
    await seesVolumes(ok)
    await seesImages(ok, registry)
    ok(['delete', 'pod/reader', 'sts/db', 'volumesnapshot/taken', '--timeout=120s'])
    ok(['delete', 'pvc', '--all', '--timeout=120s'])
  })

  test('pods that use more than they have asked for become more by their autoscaler', async () => {
    ok(['wait', '--for=jsonpath={.status.readyReplicas}=2', 'deployment/busy', '--timeout=240s'])
    await until(() => rescales().includes('New size: 2; reason: cpu resource utilization'))
    writeFileSync(join(work(), 'done'), '')
  })

  test('a killed agent is followed by one that takes everything over, and no line of a log is lost', async () => {
    const before = ['first', 'everything'].map((name) => identityOf(podNow(name)))
    await cluster.kill()
    await cluster.start('--runtime', 'embedded')
    // The status is that of before until the agent says otherwise: it is there when it answers.
    const untilMs = systemClock.monotonic() + 60_000
    while (kubectl.run(['exec', 'first', '--', 'true']).exitCode !== 0 && systemClock.monotonic() < untilMs) await systemClock.sleep(200)
    ok(['wait', '--for=condition=Ready', 'pod/first', 'pod/everything', '--timeout=120s'])
    assert.deepEqual(
      ['first', 'everything'].map((name) => identityOf(podNow(name))),
      before,
    )
    const ticks = ok(['logs', 'first'])
      .split('\n')
      .filter((line) => line.startsWith('tick'))
      .map((line) => Number(line.split(' ')[1]))
    assert.deepEqual(
      ticks,
      ticks.map((_, index) => index + 1),
    )
    assert.equal(ok(['exec', 'first', '--', 'echo', 'alive']), 'alive\n')
  })

  /** Plugins of this process answer while it waits. */
  const until = async (holds: () => boolean): Promise<void> => {
    for (let turn = 0; turn < 300; turn++) {
      if (holds()) return
      await systemClock.sleep(200)
    }
    assert.fail(`not within a minute: ${holds}\n${cluster.process.output()}`)
  }
  const isReady = (name: string) =>
    podNow(name).status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
  const isGone = (name: string) => kubectl.run(['get', 'pod', name]).exitCode !== 0

  test('figures are shown by kubectl top, in the forms of old, and by their usual names', async () => {
    // They come with the first round of the metrics server.
    await until(() => /^\S+ +\d+m +\d+% +\d+Mi +\d+% *$/m.test(kubectl.run(['top', 'nodes', '--no-headers']).stdout))
    await until(() => /^first +\d+m +\d+Mi *$/m.test(kubectl.run(['top', 'pod', 'first', '--no-headers']).stdout))
    const node = ok(['get', 'nodes', '-o', 'jsonpath={.items[0].metadata.name}'])
    const raw = (path: string) => ok(['get', '--raw', `/api/v1/nodes/${node}/proxy/${path}`])
    const { uid } = podNow('first').metadata
    const ofContainer = JSON.parse(raw(`stats/default/first/${uid}/first`)) as { stats: { cpu: { usage: { total: number } } }[] }
    assert.ok((ofContainer.stats[0]?.cpu.usage.total ?? 0) > 0)
    assert.deepEqual(Object.keys(JSON.parse(raw('stats/first/first'))), Object.keys(ofContainer))
    assert.equal((JSON.parse(raw('stats/')) as { name: string }).name, '/')
    const metrics = raw('metrics')
    for (const name of [
      'kubelet_runtime_operations_total{operation_type="list_podsandbox"}',
      'kubelet_node_name',
      'kubelet_running_pods',
      'kubelet_pleg_relist_duration_seconds_count',
    ]) {
      assert.ok(metrics.includes(name), `${name} is missing`)
    }
    assert.match(raw('metrics/probes'), /^# HELP prober_probe_total/)
    for (const path of ['metrics', 'metrics/cadvisor', 'metrics/resource', 'metrics/probes']) {
      const { status, stderr, error } = spawnSync('promtool', ['check', 'metrics'], { input: raw(path), encoding: 'utf8' })
      // 3 is for names that Prometheus would rather have otherwise; they are upstream's.
      assert.ok(status === 0 || status === 3, `${path}: ${error ?? stderr}`)
    }
  })

  test('keys of the node are for root alone, its port believes only what the cluster has signed, and a token is of one pod', async () => {
    const endpoint = JSON.parse(ok(['get', 'nodes', '-o', 'json'])).items[0].status
    const host = (endpoint.addresses as { type: string; address: string }[]).find(({ type }) => type === 'InternalIP')?.address ?? ''
    const kubelet = { host, port: endpoint.daemonEndpoints.kubeletEndpoint.Port as number }
    assert.deepEqual(readableByOthers(cluster.dataDir), [])
    const authority = readFileSync(join(cluster.dataDir, 'pki', 'ca.crt'), 'utf8')
    assert.equal(await statusOf(kubelet, { ca: authority }), 401, 'nobody knows who it is; its certificate is of the cluster')
    const strangers = strangersPair()
    assert.equal(await statusOf(kubelet, { ca: authority, ...strangers }), 401, 'a certificate of somebody else')
    await assert.rejects(statusOf(kubelet, { ca: authority, maxVersion: 'TLSv1.1', minVersion: 'TLSv1' }))
    await assert.rejects(statusOf({ host, port: 10255 }, {}), /ECONNREFUSED/)
    const token = ok(['exec', 'first', '--', 'cat', '/var/run/secrets/kubernetes.io/serviceaccount/token'])
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    assert.equal(claims['kubernetes.io'].pod.name, 'first')
    assert.equal(typeof claims['kubernetes.io'].warnafter, 'number')
  })

  test('a pod that eats memory and one that will not end do not take the node down', () => {
    const podOf = (name: string, script: string, resources: object) => ({
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } },
      spec: {
        ...{ restartPolicy: 'Never', terminationGracePeriodSeconds: 1 },
        containers: [{ name: 'main', image: 'host', command: ['sh', '-c', script], resources }],
      },
    })
    const items = [
      podOf('hungry', 'x=0123456789abcdef; while :; do x="$x$x"; done', { limits: { memory: '32Mi' } }),
      podOf('deaf', "trap '' TERM; while :; do sleep 1; done", {}),
    ]
    ok(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
    ok(['wait', '--for=condition=Ready', 'pod/deaf', '--timeout=120s'])
    ok(['wait', '--for=jsonpath={.status.containerStatuses[0].state.terminated.reason}=OOMKilled', 'pod/hungry', '--timeout=120s'])
    ok(['delete', 'pod', 'hungry', 'deaf', '--timeout=120s'])
    ok(['wait', '--for=condition=Ready', 'node', '--all', '--timeout=120s'])
  })

  test('a device plugin has its devices counted, and given to pods', async () => {
    const directory = join(cluster.dataDir, 'kubelet', 'device-plugins')
    const resource = 'example.com/dev'
    await using plugin = await TestDevicePlugin.start({
      ...{ directory, resource, devices: [aDevice('one'), aDevice('two')] },
      allocation: (ids) => ({
        envs: { DEVICES: ids.join() },
        devices: [{ containerPath: '/dev/given', hostPath: '/dev/zero', permissions: 'rw' }],
      }),
    })
    await plugin.register()
    const allocatable = () => ok(['get', 'nodes', '-o', 'jsonpath={.items[0].status.allocatable.example\\.com/dev}'])
    await until(() => allocatable() === '2')
    ok(['create', '-f', '-'], deviceManifest)
    await until(() => isReady('with-device'))
    const given = ok(['exec', 'with-device', '--', 'sh', '-c', 'test -c /dev/given && echo $DEVICES']).trim()
    assert.ok(['one', 'two'].includes(given), given)
    const allocated = () => podNow('with-device').status?.containerStatuses?.[0]?.allocatedResourcesStatus
    await until(() => allocated() !== undefined)
    assert.deepEqual(allocated(), [{ name: resource, resources: [{ resourceID: given, health: 'Healthy' }] }])
    using channel = await grpcChannel(`unix://${join(cluster.dataDir, 'kubelet', 'pod-resources', 'kubelet.sock')}`)
    const { get, list, getAllocatableResources } = podResourcesMethods
    const patience = { timeoutMs: 60_000 }
    const request = get.encodeRequest({ podName: 'with-device', podNamespace: 'default' })
    const { podResources } = get.decodeResponse(await channel.unary(get.path, request, patience))
    assert.deepEqual(podResources?.containers[0]?.devices[0]?.deviceIds, [given])
    const all = list.decodeResponse(await channel.unary(list.path, list.encodeRequest({}), patience)).podResources
    assert.deepEqual(
      all.filter(({ containers }) => containers.some(({ devices }) => devices.length > 0)).map(({ name }) => name),
      ['with-device'],
    )
    const there = await channel.unary(getAllocatableResources.path, getAllocatableResources.encodeRequest({}), patience)
    const ids = getAllocatableResources.decodeResponse(there).devices.flatMap(({ deviceIds }) => deviceIds)
    assert.deepEqual(ids.sort(), ['one', 'two'])
    ok(['delete', 'pod', 'with-device', '--now', '--wait=false'])
    await until(() => isGone('with-device'))
  })

  test('a pod with a claim gets the device that the scheduler has chosen and the driver has prepared', async () => {
    const kind = `tn${process.pid}.example.com/gpu`
    const cdi = `/var/run/cdi/tn-test-${process.pid}.json`
    mkdirSync('/var/run/cdi', { recursive: true })
    writeFileSync(cdi, JSON.stringify({ cdiVersion: '0.6.0', kind, devices: [{ name: 'gpu-1', containerEdits: { env: ['GPU=second'] } }] }))
    await using driver = await TestDraDriver.start({
      ...{ name: 'gpu.example.com', directory: cluster.directory, registry: join(cluster.dataDir, 'kubelet', 'plugins_registry') },
      devices: () => [{ requestNames: ['gpu'], poolName: 'pool', deviceName: 'gpu-1', cdiDeviceIds: [`${kind}=gpu-1`], shareId: '' }],
    })
    try {
      assert.deepEqual(await driver.registered, { pluginRegistered: true, error: '' })
      const node = ok(['get', 'nodes', '-o', 'jsonpath={.items[0].metadata.name}'])
      ok(['create', '-f', '-'], claimManifest.replaceAll('NODE', node))
      await until(() => isReady('with-claim'))
      assert.equal(ok(['exec', 'with-claim', '--', 'sh', '-c', 'echo $GPU']), 'second\n')
      const [claim] = podNow('with-claim').status?.resourceClaimStatuses ?? []
      assert.match(claim?.resourceClaimName ?? '', /^with-claim-device-/)
      ok(['delete', 'pod', 'with-claim', '--now', '--wait=false'])
      await until(() => isGone('with-claim'))
      // An answer that was late is asked for again.
      const calls = () => driver.calls.map((call) => call.split(' ')[0]).filter((call, index, all) => call !== all[index - 1])
      await until(() => calls().length >= 2)
      assert.deepEqual(calls(), ['prepare', 'unprepare'])
    } finally {
      rmSync(cdi, { force: true })
    }
  })

  test('pods that have no more work become fewer by their autoscaler', async () => {
    ok(['wait', '--for=jsonpath={.status.replicas}=1', 'deployment/busy', '--timeout=240s'])
    await until(() => rescales().includes('New size: 1; reason: All metrics below target'))
  })

  test('with the end of its pods nothing is left', async () => {
    await cluster.process.stop('SIGTERM')
    assert.match(cluster.run('down', '--pods').stdout, /The pods of its nodes are gone/)
    // The kernel takes away what was in a network namespace some time after that has gone.
    for (let tries = 0; leftOf(cluster.dataDir).length > 0 && tries < 120; tries++) await systemClock.sleep(500)
    assert.deepEqual(leftOf(cluster.dataDir), [])
  })
})
