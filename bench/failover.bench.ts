/** How long clients are without an API server, and a cluster without controllers and scheduler, when the machine that had them is gone. */
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '#base/clock.ts'
import { silentLogger } from '#base/log.ts'
import { nodeSockets } from '#base/sockets.ts'
import { ApiBalancer } from '#cmd/join/api-balancer.ts'
import type { Bench } from '../scripts/bench.ts'
import { etcdMissing, startEtcdCluster } from '../test/contracts/etcd-server.ts'
import { ask, newAgent } from '../test/soak/soak-client.ts'
import { type RunningCluster, startCluster } from '../test/support/running-cluster.ts'

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3)
const everyMs = 10
const watchMs = 4000
const patienceMs = 60_000

export default async function run(bench: Bench): Promise<void> {
  if (etcdMissing !== undefined) return console.error(etcdMissing)
  const failing: number[] = []
  const leaderless: number[] = []
  for (let round = 0; round < rounds; round++) {
    const figures = await oneRound()
    failing.push(figures.failingMs)
    leaderless.push(figures.boundAfterMs)
  }
  bench.report({
    case: 'API server killed: requests fail for',
    figure: Math.max(...failing),
    unit: 'ms at most',
    comparedWith: 'to be under 1,000',
  })
  bench.report({
    ...{ case: 'leader killed: the next pod is bound after', figure: Math.max(...leaderless) / 1000, unit: 's at most' },
    comparedWith: 'to be under 5',
  })
}

async function oneRound(): Promise<{ failingMs: number; boundAfterMs: number }> {
  await using started = new AsyncDisposableStack()
  const etcd = started.use(await startEtcdCluster(3))
  const directories = [0, 1].map(() => mkdtempSync(join(tmpdir(), 'tn bench ')))
  started.defer(() => directories.forEach((directory) => void rmSync(directory, { recursive: true, force: true })))
  const flags = ['--store', `etcd://${etcd.endpoints.map((endpoint) => endpoint.replace('http://', '')).join(',')}`]
  const first = started.use(await startCluster(flags, directories[0]))
  const second = started.use(await startCluster(flags, directories[1]))
  const servers = [first, second].map(({ url }) => ({ host: '127.0.0.1', port: Number(new URL(url).port) }))
  const balancer = await ApiBalancer.listen({ port: 0, servers, sockets: nodeSockets, clock: systemClock, logger: silentLogger })
  started.defer(() => balancer.close())
  const agent = newAgent()
  started.defer(() => agent.destroy())
  await makeNode(agent, second)
  await untilBound(agent, second, 'before')
  // The first one leads: it was alone when it started.
  const measuring = failingRequests(`https://127.0.0.1:${balancer.port}`)
  await sleep(500)
  const killedMs = performance.now()
  await first.stop('SIGKILL')
  const boundMs = await untilBound(agent, second, 'after')
  return { failingMs: await measuring, boundAfterMs: boundMs - killedMs }
}

/** Requests one after the other, each on whatever connection there is; from the first that fails to the last. */
async function failingRequests(url: string): Promise<number> {
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })
  const endMs = performance.now() + watchMs
  let [firstMs, lastMs] = [0, 0]
  while (performance.now() < endMs) {
    const atMs = performance.now()
    const isFine = await new Promise<boolean>((resolve) => {
      const sent = request(`${url}/readyz`, { agent, timeout: 1000 }, (answer) => {
        answer.resume()
        answer.on('end', () => resolve(answer.statusCode === 200))
        answer.on('error', () => resolve(false))
      })
      sent.on('timeout', () => sent.destroy())
      sent.on('error', () => resolve(false))
      sent.end()
    })
    if (!isFine) {
      firstMs ||= atMs
      lastMs = performance.now()
    }
    await sleep(everyMs)
  }
  agent.destroy()
  return lastMs - firstMs
}

async function makeNode(agent: Agent, { url, token }: RunningCluster): Promise<void> {
  const now = new Date().toISOString()
  const status = {
    capacity: { cpu: '8', memory: '8Gi', pods: '110' },
    allocatable: { cpu: '8', memory: '8Gi', pods: '110' },
    conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: now, lastTransitionTime: now, reason: 'KubeletReady', message: '' }],
  }
  await ask(agent, { url, token }, 'POST', '/api/v1/nodes', { metadata: { name: 'paper' }, status })
}

/** Resolves with the time at which the pod of a new ReplicaSet is bound: controllers made it, the scheduler placed it. */
async function untilBound(agent: Agent, { url, token }: RunningCluster, name: string): Promise<number> {
  const target = { url, token }
  const labels = { app: name }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  const body = { metadata: { name }, spec: { replicas: 1, selector: { matchLabels: labels }, template } }
  await ask(agent, target, 'POST', '/apis/apps/v1/namespaces/default/replicasets', body)
  const endMs = performance.now() + patienceMs
  while (performance.now() < endMs) {
    const reply = await ask(agent, target, 'GET', `/api/v1/namespaces/default/pods?labelSelector=app%3D${name}`)
    const items = (reply?.body['items'] ?? []) as { spec: { nodeName?: string } }[]
    if (items.some(({ spec }) => spec.nodeName !== undefined)) return performance.now()
    await sleep(20)
  }
  throw new Error(`the pod of ${name} was not bound in time`)
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
