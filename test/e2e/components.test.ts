/** Each component in a process of its own, on an etcd cluster: what somebody runs who has outgrown one process. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { V1Node, V1Service } from '#api/core/v1/types.gen.ts'
import { ServiceCIDR } from '#api/networking/v1beta1/kinds.gen.ts'
import { DeviceClass } from '#api/resource/v1beta1/kinds.gen.ts'
import { systemClock } from '#base/clock.ts'
import { thisMachine } from '#base/machine.ts'
import { waitFor } from '#client/retry.ts'
import { ConfigMap, Deployment, Node, type OpenedClient, openClient, Pod, Service } from '#index.ts'
import { etcdMissing, startEtcd, startEtcdCluster } from '../contracts/etcd-server.ts'
import { type ComponentKeys, layComponentKeys } from '../support/component-keys.ts'
import { type ComponentProcess, startComponent } from '../support/component-process.ts'
import { freePort } from '../support/free-port.ts'
import { installedKubectls, type Kubectl, kubectl } from '../support/kubectl.ts'
import { startCluster } from '../support/running-cluster.ts'
import { testSameEverywhere } from '../support/same-everywhere.ts'

const program = join(import.meta.dirname, '..', '..', 'bin', 'typernetes.js')
const timeoutMs = 60_000
/** A loopback address is none that API servers are known by to each other. */
const [address] = thisMachine().addresses()
const peerVersions = ['networking.k8s.io/v1beta1', 'resource.k8s.io/v1beta1'] as const

describe('components in processes of their own, on three etcd servers', { skip: etcdMissing ?? false, timeout: 600_000 }, () => {
  const started = new AsyncDisposableStack()
  const directory = mkdtempSync(join(tmpdir(), 'tn components '))
  let keys: ComponentKeys
  let etcd: Awaited<ReturnType<typeof startEtcdCluster>>
  let insecurePort = 0
  const servers: { process: ComponentProcess; url: string; client: OpenedClient }[] = []

  before(async () => {
    started.defer(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }))
    keys = await layComponentKeys(directory, address === undefined ? [] : [address])
    etcd = started.use(await startEtcdCluster(3))
    const ports = [await freePort(), await freePort()]
    insecurePort = await freePort()
    await Promise.all(
      ports.map(async (port, index) => {
        const url = `https://127.0.0.1:${port}`
        const listen = address === undefined ? ['--bind-address=127.0.0.1'] : [`--advertise-address=${address}`]
        const where = [...listen, `--secure-port=${port}`, `--etcd_servers=${etcd.endpoints.join(',')}`]
        // Longer than any test: what it does meanwhile can be looked at.
        const others = ['--enable-admission-plugins=NodeRestriction', '--allow-privileged=true', '--shutdown-delay-duration=1h']
        // Each serves a version that the other does not know, and the second believes none of the others.
        const [version = '', authority = ''] = index === 0 ? [peerVersions[0], 'ca'] : [peerVersions[1], 'front-proxy-ca']
        const peers = [`--runtime-config=${version}=true`, `--peer-ca-file=${join(directory, 'pki', `${authority}.crt`)}`]
        if (index === 1) peers.push('--peer-advertise-ip=127.0.0.1', `--peer-advertise-port=${port}`)
        if (index === 0) others.push('--insecure-bind-address=127.0.0.1', `--insecure-port=${insecurePort}`)
        const flags = [...where, ...keys.apiserverFlags, ...others, ...peers]
        const process = await startComponent(['apiserver', ...flags], /The API server is ready/)
        started.use(process)
        servers[index] = { process, url, client: started.use(await openClient({ kubeconfig: keys.kubeconfig('admin', url) })) }
      }),
    )
  })
  after(() => started.disposeAsync())

  /** While etcd servers go and come, an API server may have to look for another one. */
  const eventually = async <T>(ask: () => Promise<T>): Promise<T> => {
    for (let tries = 0; ; tries++, await sleep(100)) {
      try {
        return await ask()
      } catch (error) {
        if (tries > timeoutMs / 100) throw error
      }
    }
  }
  const scaled = async (client: OpenedClient, replicas: number) => {
    await eventually(() => client.patch(Deployment, { namespace: 'default', name: 'web' }, { spec: { replicas } }, { type: 'merge' }))
    for (let tries = 0; ; tries++) {
      const { items } = await eventually(() => client.list(Pod, { namespace: 'default' }))
      // Nobody ends pods on a node of paper.
      const live = items.filter(({ spec, metadata }) => spec?.nodeName === 'paper' && metadata.deletionTimestamp === undefined)
      if (live.length === replicas) return
      assert.ok(tries < timeoutMs / 100, JSON.stringify(items.map(({ status }) => status)))
      await sleep(100)
    }
  }

  test('a flag without effect is said to have none, once', async () => {
    const [first = assert.fail()] = servers
    // That it is ready comes on another pipe.
    for (let tries = 0; !first.process.output().includes('--allow-privileged') && tries < timeoutMs / 100; tries++) await sleep(100)
    assert.equal(first.process.output().match(/flags without effect/g)?.length, 1)
    assert.match(first.process.output(), /--allow-privileged/)
  })

  test('whoever reaches --insecure-port of the loopback address may do anything, and it is served nowhere else', async () => {
    const asked = await fetch(`http://127.0.0.1:${insecurePort}/api/v1/namespaces/kube-system/secrets`)
    assert.equal(asked.status, 200)
    assert.equal(((await asked.json()) as { kind: string }).kind, 'SecretList')
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
    const answer = await fetch(`http://127.0.0.1:${insecurePort}/apis/authentication.k8s.io/v1/selfsubjectreviews`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(review),
    })
    assert.match(await answer.text(), /"system:unsecured"/)
    if (address !== undefined) await assert.rejects(fetch(`http://${address}:${insecurePort}/healthz`), /fetch failed/)
    const refused = spawnSync(process.execPath, [program, 'apiserver', '--insecure-bind-address=0.0.0.0'], { encoding: 'utf8' })
    assert.notEqual(refused.status, 0)
    assert.match(refused.stderr, /--insecure-bind-address/)
  })

  test('what one API server does not serve is asked of the other, if its certificate is of the authority for that', {
    skip: address === undefined && 'this machine has no address but that of loopback',
  }, async () => {
    const [first = assert.fail(), second = assert.fail()] = servers.map(({ client }) => client)
    // They learn of each other by the service kubernetes, and remember for half a minute what they were told.
    await first.list(ServiceCIDR)
    for (let tries = 0; (await first.list(DeviceClass).catch(() => undefined)) === undefined; tries++, await sleep(250))
      assert.ok(tries < timeoutMs / 250, 'the first does not ask the second')
    await second.list(DeviceClass)
    await assert.rejects(second.list(ServiceCIDR), /the server could not find the requested resource/)
  })

  test('a Deployment becomes pods on a node', async () => {
    const [first = assert.fail()] = servers
    const flags = ['--secure-port=0', '--leader-elect=false', '--log-level=warn']
    const managed = keys.kubeconfig('controller-manager', first.url)
    started.use(
      await startComponent(
        [
          'controller-manager',
          '--kubeconfig',
          managed,
          ...keys.managerFlags,
          ...flags.slice(0, 2),
          '--use-service-account-credentials=true',
        ],
        /controller manager is running/,
      ),
    )
    started.use(
      await startComponent(
        ['scheduler', '--kubeconfig', keys.kubeconfig('scheduler', first.url), ...flags.slice(0, 2)],
        /scheduler is running/,
      ),
    )
    await first.client.create(Node, {
      metadata: { name: 'paper' },
      spec: {},
      status: {
        allocatable: { cpu: '8', memory: '8Gi', pods: '110' },
        capacity: { cpu: '8', memory: '8Gi', pods: '110' },
        conditions: [{ type: 'Ready', status: 'True', reason: 'Test', lastHeartbeatTime: new Date().toISOString() }],
      },
    })
    const labels = { app: 'web' }
    await first.client.create(Deployment, {
      metadata: { namespace: 'default', name: 'web' },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'a' }], tolerations: [{ operator: 'Exists' }] } },
      },
    })
    await scaled(first.client, 2)
  })

  test('a cloud controller manager says what a node is, and gives services addresses, with accounts of its own', async () => {
    const [{ url, client } = assert.fail()] = servers
    const dataDir = join(directory, 'cloud')
    mkdirSync(join(dataDir, 'nodes', 'machine'), { recursive: true })
    writeFileSync(join(dataDir, 'nodes', 'machine.json'), JSON.stringify({ name: 'machine', number: 1 }))
    writeFileSync(join(dataDir, 'nodes', 'machine', 'settings.json'), JSON.stringify({ address: '192.0.2.7' }))
    const config = join(directory, 'cloud.yaml')
    writeFileSync(config, JSON.stringify({ dataDir, zone: 'z', loadBalancerPools: ['198.51.100.1'] }))
    const cloud = ['--cloud-provider=typernetes', `--cloud-config=${config}`, '--configure-cloud-routes=false']
    const flags = ['--kubeconfig', keys.kubeconfig('admin', url), '--secure-port=0', '--use-service-account-credentials=true']
    await using _ = await startComponent(['cloud-controller-manager', ...cloud, ...flags], /cloud controller manager is running/)
    const key = 'node.cloudprovider.kubernetes.io/uninitialized'
    await client.create(Node, { metadata: { name: 'machine' }, spec: { taints: [{ key, value: 'true', effect: 'NoSchedule' }] } })
    await client.create(Service, { metadata: { namespace: 'default', name: 'web' }, spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } })
    const limits = { clock: systemClock, timeoutMs }
    // Addresses are written apart from the rest.
    const isKnown = (node: V1Node | undefined) =>
      (node?.status?.addresses ?? []).some(({ address }) => address === '192.0.2.7') &&
      node?.spec?.providerID !== undefined &&
      !(node.spec.taints ?? []).some((taint) => taint.key === key)
    const node = await waitFor(client, Node, { name: 'machine' }, isKnown, limits)
    assert.match(node?.spec?.providerID ?? '', /^typernetes:\/\/.*\/machine$/)
    assert.equal(node?.metadata.labels?.['topology.kubernetes.io/zone'], 'z')
    const place = { namespace: 'default', name: 'web' }
    const hasAddress = (service: V1Service | undefined) => service?.status?.loadBalancer?.ingress?.[0]?.ip === '198.51.100.1'
    const service = await waitFor(client, Service, place, hasAddress, limits)
    assert.deepEqual(service?.metadata.finalizers, ['service.kubernetes.io/load-balancer-cleanup'])
    await client.delete(Service, place)
    await waitFor(client, Service, place, (found) => found === undefined, limits)
    await client.delete(Node, { name: 'machine' })
  })

  const newest = installedKubectls().at(-1)
  if (newest !== undefined) {
    let client: Kubectl | undefined
    testSameEverywhere(test, (args, input) => {
      // The other one: what one server did the other shows.
      client ??= kubectl(newest.path, newest.version, keys.kubeconfig('admin', servers[1]?.url ?? ''))
      return client.run(args, input === undefined ? {} : { input })
    })
  }

  test('with one etcd server and one API server gone, nothing that was acknowledged is lost and work goes on', async () => {
    const [first = assert.fail(), second = assert.fail()] = servers
    const written: string[] = []
    let isOver = false
    const writing = (async () => {
      for (let number = 0; !isOver; number++) {
        const name = `kept-${number}`
        // A write whose answer is lost may or may not be there: nobody was promised anything.
        await second.client.create(ConfigMap, { metadata: { namespace: 'default', name } }).then(
          () => written.push(name),
          () => sleep(20),
        )
      }
    })()
    for (let tries = 0; written.length < 20 && tries < timeoutMs / 50; tries++) await sleep(50)
    await etcd.kill(0)
    const before = written.length
    for (let tries = 0; written.length < before + 20 && tries < timeoutMs / 50; tries++) await sleep(50)
    isOver = true
    await writing
    assert.ok(written.length >= before + 20, `only ${written.length - before} writes after an etcd server was killed`)
    const { items } = await eventually(() => first.client.list(ConfigMap, { namespace: 'default' }))
    const names = new Set(items.map(({ metadata }) => metadata.name))
    assert.deepEqual(
      written.filter((name) => !names.has(name)),
      [],
    )
    await scaled(first.client, 3)
    second.process.child.kill('SIGTERM')
    // It says that it leaves, and goes on serving whoever has not heard.
    const isReady = () => second.client.raw('/readyz').catch(() => 'failed')
    for (let tries = 0; (await isReady()) !== 'failed'; tries++) {
      assert.ok(tries < timeoutMs / 50, 'it is still ready')
      await sleep(50)
    }
    await eventually(() => second.client.create(ConfigMap, { metadata: { namespace: 'default', generateName: 'late-' } }))
    await second.process.stop('SIGKILL')
    await scaled(first.client, 1)
  })

  test('objects move from the embedded store to etcd, once', async () => {
    const data = join(directory, 'data')
    const cluster = await startCluster(['--controllers=', '--scheduler=false'], directory)
    {
      using client = await openClient({ kubeconfig: cluster.kubeconfig })
      await client.create(ConfigMap, { metadata: { namespace: 'default', name: 'moved' }, data: { a: 'b' } })
    }
    await cluster.stop()
    const other = started.use(await startEtcd())
    const migrate = () =>
      spawnSync(process.execPath, [program, 'store', 'migrate', '--data-dir', data, '--to', `etcd://${other.endpoint}`], {
        encoding: 'utf8',
      })
    assert.match(migrate().stdout, /Copied \d+ keys/)
    assert.match(migrate().stderr, /holds \d+ keys below \/registry\/ already/)
    const port = await freePort()
    const url = `https://127.0.0.1:${port}`
    const where = ['--bind-address=127.0.0.1', `--secure-port=${port}`, `--etcd-servers=http://${other.endpoint}`]
    const server = started.use(await startComponent(['apiserver', ...where, ...keys.apiserverFlags], /The API server is ready/))
    using moved = await openClient({ kubeconfig: keys.kubeconfig('admin', url) })
    assert.equal((await moved.get(ConfigMap, 'default', 'moved')).data?.['a'], 'b')
    assert.equal(await server.stop('SIGTERM'), 0)
  })

  for (const [given, complaint] of [
    [[], /--etcd-servers must be specified/],
    [['--etcd-servers=http://127.0.0.1:1'], /--service-account-signing-key-file and --service-account-issuer are required flags/],
    [['--etcd-servers=http://127.0.0.1:1', '--no-such-flag'], /unknown option/],
  ] as const) {
    test(`it says what is missing: ${given.join(' ') || 'no flag'}`, () => {
      const { status, stderr } = spawnSync(process.execPath, [program, 'apiserver', ...given], { encoding: 'utf8' })
      assert.equal(status, 1)
      assert.match(stderr, complaint)
    })
  }

  test('links by the names people type act as the component', () => {
    const bin = join(directory, 'bin')
    const run = (command: string, ...args: string[]) => spawnSync(process.execPath, [command, ...args], { encoding: 'utf8' })
    assert.equal(run(program, 'link', bin).status, 0)
    assert.match(run(join(bin, 'kube-apiserver'), '--help').stdout, /--etcd-servers/)
    assert.match(run(join(bin, 'kubelet'), '--help').stdout, /--container-runtime-endpoint/)
    assert.equal(run(program, 'link', bin, '--remove').status, 0)
  })
})
