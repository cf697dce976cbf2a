/** Each component in a process of its own, on an etcd cluster: what somebody runs who has outgrown one process. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigMap, Deployment, Node, type OpenedClient, openClient, Pod } from '#index.ts'
import { etcdMissing, startEtcd, startEtcdCluster } from '../contracts/etcd-server.ts'
import { type ComponentKeys, layComponentKeys } from '../support/component-keys.ts'
import { type ComponentProcess, startComponent } from '../support/component-process.ts'
import { freePort, startCluster } from '../support/running-cluster.ts'

const program = join(import.meta.dirname, '..', '..', 'bin', 'typernetes.js')
const timeoutMs = 60_000

describe('components in processes of their own, on three etcd servers', { skip: etcdMissing ?? false, timeout: 180_000 }, () => {
  const started = new AsyncDisposableStack()
  const directory = mkdtempSync(join(tmpdir(), 'tn components '))
  let keys: ComponentKeys
  let etcd: Awaited<ReturnType<typeof startEtcdCluster>>
  const servers: { process: ComponentProcess; url: string; client: OpenedClient }[] = []

  before(async () => {
    started.defer(() => rmSync(directory, { recursive: true, force: true }))
    keys = await layComponentKeys(directory)
    etcd = started.use(await startEtcdCluster(3))
    const ports = [await freePort(), await freePort()]
    await Promise.all(
      ports.map(async (port) => {
        const url = `https://127.0.0.1:${port}`
        const where = ['--bind-address=127.0.0.1', `--secure-port=${port}`, `--etcd_servers=${etcd.endpoints.join(',')}`]
        const others = ['--enable-admission-plugins=NodeRestriction', '--allow-privileged=true']
        const process = await startComponent(['apiserver', ...where, ...keys.apiserverFlags, ...others], /The API server is ready/)
        started.use(process)
        servers.push({ process, url, client: started.use(await openClient({ kubeconfig: keys.kubeconfig('admin', url) })) })
      }),
    )
  })
  after(() => started.disposeAsync())

  const scaled = async (client: OpenedClient, replicas: number) => {
    await client.patch(Deployment, { namespace: 'default', name: 'web' }, { spec: { replicas } }, { type: 'merge' })
    for (let tries = 0; ; tries++) {
      const { items } = await client.list(Pod, { namespace: 'default' })
      // Nobody ends pods on a node of paper.
      const live = items.filter(({ spec, metadata }) => spec?.nodeName === 'paper' && metadata.deletionTimestamp === undefined)
      if (live.length === replicas) return
      assert.ok(tries < timeoutMs / 100, JSON.stringify(items.map(({ status }) => status)))
      await sleep(100)
    }
  }

  test('a flag without effect is said to have none, once', () => {
    const [first = assert.fail()] = servers
    assert.equal(first.process.output().match(/flags without effect/g)?.length, 1)
    assert.match(first.process.output(), /--allow-privileged/)
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
    const { items } = await first.client.list(ConfigMap, { namespace: 'default' })
    const names = new Set(items.map(({ metadata }) => metadata.name))
    assert.deepEqual(
      written.filter((name) => !names.has(name)),
      [],
    )
    await scaled(first.client, 3)
    assert.equal(await second.process.stop('SIGTERM'), 0)
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
    started.use(await startComponent(['apiserver', ...where, ...keys.apiserverFlags], /The API server is ready/))
    using moved = await openClient({ kubeconfig: keys.kubeconfig('admin', url) })
    assert.equal((await moved.get(ConfigMap, 'default', 'moved')).data?.['a'], 'b')
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
