/** 200 Deployments of 10 pods on 50 simulated nodes, asked for from another process, until every pod runs: and what each pod costs. */
import { mkdtempSync, rmSync } from 'node:fs'
import { type ClientHttp2Session, connect } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bench } from '../scripts/bench.ts'
import { freePort } from '../test/support/free-port.ts'
import { startMeasured } from './support/measured-process.ts'

const nodeCount = 50
const deploymentCount = Number(process.env['BENCH_DEPLOYMENTS'] ?? 200)
const replicas = 10
const podCount = deploymentCount * replicas
const limitMs = 300_000
const writeVerbs = ['POST', 'PUT', 'PATCH', 'APPLY', 'DELETE']

export default async function run(bench: Bench): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'tn-bench-'))
  const port = await freePort()
  const flags = [
    '--token',
    'bench',
    '--runtime',
    'none',
    '--sim-nodes',
    String(nodeCount),
    '--store',
    process.env['BENCH_STORE'] ?? 'sqlite',
  ]
  const args = ['up', '--api-port', String(port), '--data-dir', join(directory, 'data'), ...flags]
  const profile = process.env['BENCH_PROFILE']
  const nodeArgs = profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', profile]
  try {
    await using server = await startMeasured('bin/typernetes.js', args, { readyText: 'The cluster is ready', nodeArgs })
    const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false })
    await until(async () => (await send(session, 'GET', '/api/v1/namespaces/default/serviceaccounts/default')).includes('"uid"'))
    const before = await writesBy(session)
    await server.count()
    const startedMs = performance.now()
    let next = 0
    const create = async () => {
      for (let index = next++; index < deploymentCount; index = next++)
        await send(session, 'POST', '/apis/apps/v1/namespaces/default/deployments', deployment(`web-${index}`))
    }
    await Promise.all(Array.from({ length: 16 }, create))
    await until(async () => (await countRunning(session)) === podCount)
    const seconds = (performance.now() - startedMs) / 1000
    const { cpuSeconds, loopSeconds, parts } = await server.report()
    const after = await writesBy(session)
    const eventsAfterSeconds = await quietAfter(session, startedMs)
    const all = await server.report()
    const allWrites = sumOf(await writesBy(session)) - sumOf(before)
    session.destroy()
    const what = `${deploymentCount} deployments of ${replicas} on ${nodeCount} nodes`
    bench.report({ case: `${what}: every pod runs after`, figure: seconds, unit: 's', comparedWith: 'aim 4 s', ratio: seconds / 4 })
    bench.report({ case: `${what}: processor time`, figure: cpuSeconds, unit: 's' })
    bench.report({ case: `${what}: processor time a pod`, figure: (cpuSeconds * 1e6) / podCount, unit: 'µs' })
    bench.report({ case: `${what}: of that the event loop`, figure: (loopSeconds * 1e6) / podCount, unit: 'µs' })
    for (const part in parts) {
      bench.report({ case: `${what}: ${part}, a pod`, figure: ((parts[part] ?? 0) * loopSeconds * 1e6) / podCount, unit: 'µs' })
    }
    let total = 0
    for (const [resource, count] of after) {
      const made = count - (before.get(resource) ?? 0)
      if (made === 0) continue
      total += made
      bench.report({ case: `${what}: writes a pod of ${resource}`, figure: made / podCount, unit: '1/pod' })
    }
    bench.report({ case: `${what}: writes a pod`, figure: total / podCount, unit: '1/pod' })
    // Events are written last, and cost what they cost.
    bench.report({ case: `${what}: every event is written after`, figure: eventsAfterSeconds, unit: 's' })
    bench.report({ case: `${what}: writes a pod until then`, figure: allWrites / podCount, unit: '1/pod' })
    bench.report({ case: `${what}: processor time a pod until then`, figure: (all.cpuSeconds * 1e6) / podCount, unit: 'µs' })
  } finally {
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
  }
}

type PodList = { items: { status?: { phase?: string } }[]; metadata: { remainingItemCount?: number } }

async function countRunning(session: ClientHttp2Session): Promise<number> {
  const path = '/api/v1/namespaces/default/pods?fieldSelector=status.phase%21%3DRunning&limit=1'
  const left = JSON.parse(await send(session, 'GET', path)) as PodList
  if (left.items.length > 0) return 0
  const all = JSON.parse(await send(session, 'GET', '/api/v1/namespaces/default/pods?limit=1')) as PodList
  return all.items.length + (all.metadata.remainingItemCount ?? 0)
}

/** When the last event was written, of those that came within a second of each other. */
async function quietAfter(session: ClientHttp2Session, startedMs: number): Promise<number> {
  let known = -1
  let lastMs = performance.now()
  await until(async () => {
    const count = (await writesBy(session)).get('events (POST)') ?? 0
    if (count !== known) lastMs = performance.now()
    known = count
    return performance.now() - lastMs > 1000
  })
  return (lastMs - startedMs) / 1000
}

function sumOf(counts: ReadonlyMap<string, number>): number {
  let sum = 0
  for (const count of counts.values()) sum += count
  return sum
}

/** Requests that changed something, by what they changed and how. */
async function writesBy(session: ClientHttp2Session): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const line of (await send(session, 'GET', '/metrics')).split('\n')) {
    const found = /^apiserver_request_total\{(.*)\} (\S+)$/.exec(line)
    if (found === null) continue
    const label = (name: string) => new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(found[1] ?? '')?.[1] ?? ''
    if (!writeVerbs.includes(label('verb'))) continue
    const what = [label('resource'), label('subresource')].filter((part) => part !== '').join('/')
    const refusal = label('code').startsWith('2') ? '' : ` refused with ${label('code')}`
    const key = `${what} (${label('verb')})${refusal}`
    counts.set(key, (counts.get(key) ?? 0) + Number(found[2]))
  }
  return counts
}

function deployment(name: string): object {
  const labels = { app: name }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'registry.example.com/app:1' }] } }
  return { metadata: { name }, spec: { replicas, selector: { matchLabels: labels }, template } }
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + limitMs
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error(`not within ${limitMs / 1000} s`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

function send(session: ClientHttp2Session, method: string, path: string, body?: object): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { ':method': method, ':path': path, authorization: 'Bearer bench', 'content-type': 'application/json' }
    const stream = session.request(headers)
    let text = ''
    stream.on('data', (chunk: Buffer) => {
      text += chunk
    })
    stream.on('error', reject)
    stream.on('end', () => resolve(text))
    stream.end(body && JSON.stringify(body))
  })
}
