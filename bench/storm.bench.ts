/** How long an outside client waits for an answer while thousands of pods start on simulated nodes in the same process. */
import { mkdtempSync, rmSync } from 'node:fs'
import { type ClientHttp2Session, connect } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bench } from '../scripts/bench.ts'
import { freePort } from '../test/support/free-port.ts'
import { startMeasured } from './support/measured-process.ts'

const nodeCount = Number(process.env['BENCH_NODES'] ?? 1000)
const replicas = Number(process.env['BENCH_REPLICAS'] ?? 5000)
const limitMs = 180_000
const deployments = '/apis/apps/v1/namespaces/default/deployments'
const template = { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }

type Node = { status?: { conditions?: { type: string; status: string }[] } }

export default async function run(bench: Bench): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'tn-bench-'))
  const port = await freePort()
  const flags = ['--token', 'bench', '--runtime', 'none', '--sim-nodes', String(nodeCount)]
  const args = ['up', '--api-port', String(port), '--data-dir', join(directory, 'data'), ...flags]
  try {
    await using server = await startMeasured('bin/typernetes.js', args, { readyText: 'The cluster is ready' })
    const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false })
    await until(async () => {
      const { items = [] } = JSON.parse(await send(session, 'GET', '/api/v1/nodes')) as { items?: Node[] }
      return items.length === nodeCount && items.every(isReady)
    })
    await server.start()
    const startedMs = performance.now()
    let isOver = false
    const probing = probe(session, () => isOver)
    await send(session, 'POST', deployments, {
      metadata: { name: 'big' },
      spec: { replicas, selector: { matchLabels: { app: 'a' } }, template },
    })
    await until(async () => {
      const { status } = JSON.parse(await send(session, 'GET', `${deployments}/big`)) as { status?: { readyReplicas?: number } }
      return status?.readyReplicas === replicas
    })
    const seconds = (performance.now() - startedMs) / 1000
    isOver = true
    const waits = (await probing).sort((left, right) => left - right)
    const { longestHoldMs, cpuSeconds } = await server.report()
    session.destroy()
    const what = `${replicas} pods start on ${nodeCount} nodes`
    bench.report({ case: `${what}: all are ready after`, figure: seconds, unit: 's' })
    bench.report({ case: `${what}: processor time`, figure: cpuSeconds, unit: 's' })
    bench.report({ case: `${what}: GET /livez meanwhile, half`, figure: waits[waits.length >> 1] ?? 0, unit: 'ms' })
    const p99Ms = waits[Math.floor(waits.length * 0.99)] ?? 0
    bench.report({
      case: `${what}: GET /livez meanwhile, 99 %`,
      figure: p99Ms,
      unit: 'ms',
      comparedWith: 'at most 100',
      ratio: p99Ms / 100,
    })
    bench.report({ case: `${what}: longest hold of the event loop`, figure: longestHoldMs, unit: 'ms' })
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const isReady = ({ status }: Node) => status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false

async function probe(session: ClientHttp2Session, isOver: () => boolean): Promise<number[]> {
  const waits: number[] = []
  while (!isOver()) {
    const startMs = performance.now()
    await send(session, 'GET', '/livez')
    waits.push(performance.now() - startMs)
    await pause(20)
  }
  return waits
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + limitMs
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error(`not within ${limitMs / 1000} s`)
    await pause(200)
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

function send(session: ClientHttp2Session, method: string, path: string, body?: object): Promise<string> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': method,
      ':path': path,
      authorization: 'Bearer bench',
      'content-type': 'application/json',
    })
    let text = ''
    stream.on('data', (chunk: Buffer) => {
      text += chunk
    })
    stream.on('error', reject)
    stream.on('end', () => resolve(text))
    stream.end(body && JSON.stringify(body))
  })
}
