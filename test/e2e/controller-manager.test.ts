/** The controllers in processes of their own, against an API server that has none. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { request } from 'node:https'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Deployment, Lease, type OpenedClient, openClient, ServiceAccount, systemClock, waitFor } from '#index.ts'
import { freePort } from '../support/free-port.ts'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'

const repository = join(import.meta.dirname, '..', '..')
/** Shorter than usual, but long enough for a busy machine. */
const leaseMs = 6000
const retryMs = 500
const flags = [
  ...['--leader-elect-lease-duration=6s', '--leader-elect-renew-deadline=5s', '--leader-elect-retry-period=500ms', '--log-level=warn'],
  // As in the manifests that kubeadm writes.
  ...['--use-service-account-credentials=true', '--cluster-name=kubernetes', '--authentication-kubeconfig=/none', '--v=2'],
]

class Manager {
  readonly process: ChildProcess
  readonly port: number
  readonly exited: Promise<number | null>
  output = ''

  constructor(kubeconfig: string, port: number, extra: readonly string[] = []) {
    this.port = port
    const args = [join(repository, 'src/cmd/main.ts'), 'controller-manager', '--kubeconfig', kubeconfig, '--secure-port', String(port)]
    this.process = spawn(process.execPath, [...args, ...flags, ...extra], { stdio: ['ignore', 'pipe', 'pipe'] })
    this.process.stdout?.on('data', (text: Buffer) => {
      this.output += text
    })
    this.process.stderr?.on('data', (text: Buffer) => {
      this.output += text
    })
    // Not `exit`: what it wrote last is read after that.
    this.exited = new Promise((resolve) => this.process.on('close', resolve))
  }

  /** Undefined while nobody answers. */
  async ask(path: string): Promise<{ status: number; text: string } | undefined> {
    return new Promise((resolve) => {
      const asking = request({ host: '127.0.0.1', port: this.port, path, rejectUnauthorized: false, agent: false }, (response) => {
        let text = ''
        response.on('data', (chunk: Buffer) => {
          text += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
        response.on('error', () => resolve(undefined))
      })
      asking.on('error', () => resolve(undefined))
      asking.end()
    })
  }

  async leads(): Promise<boolean> {
    const metrics = await this.ask('/metrics')
    return /leader_election_master_status\{name="kube-controller-manager"\} 1/.test(metrics?.text ?? '')
  }

  async stop(signal: NodeJS.Signals): Promise<number | null> {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill(signal)
    return this.exited
  }
}

describe('controller managers', () => {
  let cluster: RunningCluster
  let client: OpenedClient
  const managers: Manager[] = []
  const start = async (extra: readonly string[] = []) => {
    const manager = new Manager(cluster.kubeconfig, await freePort(), extra)
    managers.push(manager)
    return manager
  }

  before(async () => {
    cluster = await startCluster(['--store', 'memory', '--sim-nodes', '1', '--controllers='])
    client = await openClient({ kubeconfig: cluster.kubeconfig })
  })
  after(async () => {
    for (const manager of managers) await manager.stop('SIGKILL')
    client?.[Symbol.dispose]()
    await cluster?.[Symbol.asyncDispose]()
  })

  /** One of them leads, and while waiting for it never two do. */
  const leaderOf = async (candidates: readonly Manager[]): Promise<Manager> => {
    for (let round = 0; round < 900; round++) {
      const leading = (await Promise.all(candidates.map(async (each) => ((await each.leads()) ? [each] : [])))).flat()
      // One that has lost its lease ends: if the first still leads after the second has answered, both did at the same time.
      const [first] = leading
      assert.ok(leading.length <= 1 || !(await first?.leads()), 'two lead at once')
      if (leading.length === 1 && first !== undefined) return first
      await sleep(100)
    }
    return assert.fail(`nobody leads:\n${candidates.map(({ output }) => output).join('\n')}`)
  }
  const becomesAvailable = async (name: string) => {
    const labels = { app: name }
    const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'a' }] } }
    await client.create(Deployment, {
      metadata: { namespace: 'default', name },
      spec: { replicas: 2, selector: { matchLabels: labels }, template },
    })
    const isThere = (deployment: { status?: { availableReplicas?: number } } | undefined) => deployment?.status?.availableReplicas === 2
    await waitFor(client, Deployment, { namespace: 'default', name }, isThere, { clock: systemClock, timeoutMs: 90_000 })
  }
  const lease = () => client.get(Lease, 'kube-system', 'kube-controller-manager')

  test('of two one leads and works; when it is killed the other does after the lease time, and not before', async () => {
    for (let tries = 0; ; tries++) {
      try {
        return await oneTakesOver(`-${tries}`)
      } catch (error) {
        // One that stood still for longer than it may has given up, which is right, and no takeover to look at.
        if (tries === 3 || !managers.some(({ output }) => /leaderelection lost/.test(output))) throw error
        for (const manager of managers.splice(0)) await manager.stop('SIGKILL')
      }
    }
  })

  async function oneTakesOver(suffix: string): Promise<void> {
    const both = [await start(), await start()]
    const leader = await leaderOf(both)
    await becomesAvailable(`first${suffix}`)
    const other = both.find((each) => each !== leader) ?? assert.fail()
    while ((await other.ask('/livez'))?.status !== 200) await sleep(100)
    assert.match((await leader.ask('/healthz'))?.text ?? '', /^ok$/)
    assert.match((await other.ask('/readyz?verbose'))?.text ?? '', /\[\+\]leaderElection ok\nreadyz check passed/)
    assert.equal((await other.ask('/nothing'))?.status, 404)
    const metrics = (await leader.ask('/metrics'))?.text ?? ''
    assert.match(metrics, /workqueue_adds_total\{name="deployment"\} [1-9]/)
    await leader.stop('SIGKILL')
    const before = await lease()
    assert.equal(await leaderOf([other]), other)
    const taken = await lease()
    assert.notEqual(taken.spec?.holderIdentity, before.spec?.holderIdentity)
    const silentMs = Date.parse(taken.spec?.acquireTime ?? '') - Date.parse(before.spec?.renewTime ?? '')
    assert.ok(silentMs >= leaseMs, `it took over after ${silentMs} ms, before the lease had ended`)
    // Within the longest pause between two tries, and what a busy machine may be late.
    assert.ok(silentMs <= leaseMs + 2.2 * retryMs + 60_000, `it took over only after ${silentMs} ms`)
    assert.equal(taken.spec?.leaseTransitions, (before.spec?.leaseTransitions ?? 0) + 1)
    await becomesAvailable(`second${suffix}`)
    // One that is asked to end gives the lease back.
    assert.equal(await other.stop('SIGTERM'), 0)
    assert.equal((await lease()).spec?.holderIdentity, '')
  }

  test('controllers work as service accounts of their own; a list of them is understood in both spellings', async () => {
    // Nobody waits for its lease to end: it may stand still for long.
    const unhurried = ['--leader-elect-lease-duration=120s', '--leader-elect-renew-deadline=90s']
    const manager = await start(['--controllers=replicaset,deployment-controller,-job', ...unhurried])
    await leaderOf([manager])
    await becomesAvailable('third')
    const accounts = (await client.list(ServiceAccount, { namespace: 'kube-system' })).items.map(({ metadata }) => metadata.name)
    assert.ok(accounts.includes('replicaset-controller') && accounts.includes('deployment-controller'))
    const metrics = (await manager.ask('/metrics'))?.text ?? ''
    assert.match(metrics, /workqueue_depth\{name="replicaset"\}/)
    assert.doesNotMatch(metrics, /workqueue_depth\{name="(job|statefulset)"\}/)
    assert.equal(await manager.stop('SIGTERM'), 0)
  })

  for (const [given, complaint] of [
    ['--controllers=*,-nonsense', /"nonsense" is not in the list of known controllers/],
    ['--kubeconfig=/nowhere', /nowhere/],
    ['--node-monitor-period=soon', /not a length of time/],
    ['--no-such-flag', /unknown option/],
  ] as const) {
    test(`${given} is refused`, async () => {
      const manager = await start([given])
      assert.equal(await manager.exited, 1)
      assert.match(manager.output, complaint)
    })
  }

  test('a leader that loses its API server gives up by itself', async () => {
    const manager = await start(['--controllers=job'])
    await leaderOf([manager])
    cluster.process.kill('SIGSTOP')
    try {
      assert.equal(await manager.exited, 1)
      assert.match(manager.output, /leaderelection lost/)
    } finally {
      cluster.process.kill('SIGCONT')
    }
  })
})
