/** What the API server does in a second, over TLS, with pods of 3 KB; beside it a bare node:http2 server that sends the same bytes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bench, BenchRow } from '../scripts/bench.ts'
import { freePort } from '../test/support/free-port.ts'
import type { LoadRequest, LoadResult } from './support/load.ts'
import type { Measured } from './support/measure.ts'
import { type MeasuredProcess, runJson, startMeasured } from './support/measured-process.ts'
import { threeKilobytePod } from './support/three-kilobyte-pod.ts'
import type { WatchRequest, WatchResult } from './support/watchers.ts'

const token = 'bench'
const pods = '/api/v1/namespaces/default/pods'
const podCount = Number(process.env['BENCH_PODS'] ?? 10_000)
const storedCount = Number(process.env['BENCH_STORED_PODS'] ?? 100_000)
const seconds = Number(process.env['BENCH_SECONDS'] ?? 5)
const warmUpCount = 30_000
const bareName = 'a bare node:http2 server'

export default async function run(bench: Bench): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'tn-bench-'))
  try {
    await using server = await startServer(join(directory, 'data'))
    await creates(bench, server)
    const files = await answers(server, directory)
    await gets(bench, server, files.pod, directory)
    await lists(bench, server, files.list, directory)
    await hotUpdates(bench, server)
    await watches(bench, server)
    await server.process.stop()
    await idleWatches(bench, join(directory, 'idle'))
    await manyStored(bench, join(directory, 'many'), files.pod)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** A figure beside the one it has to reach: a ratio of 1 or more is enough. */
function atLeast(target: number, figure: number): Pick<BenchRow, 'figure' | 'comparedWith' | 'ratio'> {
  return { figure, comparedWith: `at least ${target.toLocaleString('en')}`, ratio: figure / target }
}

/** Here 1 or less is. */
function atMost(target: number, figure: number): Pick<BenchRow, 'figure' | 'comparedWith' | 'ratio'> {
  return { figure, comparedWith: `at most ${target.toLocaleString('en')}`, ratio: figure / target }
}

function reportHold(bench: Bench, what: string, { longestHoldMs, longestDelayMs }: Measured): void {
  bench.report({ case: `${what}: longest hold of the event loop`, unit: 'ms', ...atMost(20, longestHoldMs) })
  bench.report({ case: `${what}: longest wait for the event loop, with what else runs here`, figure: longestDelayMs, unit: 'ms' })
}

type Server = AsyncDisposable & {
  process: MeasuredProcess
  url: string
  send(method: string, path: string, body?: object): Promise<Buffer>
}

/** The API server alone: no controllers, scheduler or nodes. */
async function startServer(dataDir: string): Promise<Server> {
  const port = await freePort()
  const flags = ['--token', token, '--runtime', 'none', '--controllers=', '--scheduler=false']
  const args = ['up', '--runtime', 'none', '--api-port', String(port), '--data-dir', dataDir, ...flags]
  const environment = { NODE_COMPILE_CACHE: join(import.meta.dirname, '..', '.cache', 'compiled') }
  const server = await startMeasured('bin/typernetes.js', args, { readyText: 'The cluster is ready', environment })
  const url = `https://127.0.0.1:${port}`
  const { connect } = await import('node:http2')
  const send = (method: string, path: string, body?: object) =>
    new Promise<Buffer>((resolve, reject) => {
      const session = connect(url, { rejectUnauthorized: false })
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const stream = session.request({ ':method': method, ':path': path, ...headers })
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('error', reject)
      stream.on('close', () => {
        session.destroy()
        resolve(Buffer.concat(chunks))
      })
      stream.end(body && JSON.stringify(body))
    })
  return { process: server, url, send, [Symbol.asyncDispose]: () => server.stop() }
}

type Loaded = LoadResult & { measured: Measured; perSecond: number; cpuMicros: number }

async function load(
  process: MeasuredProcess,
  request: Omit<LoadRequest, 'token' | 'connections' | 'concurrency'> & Partial<LoadRequest>,
): Promise<Loaded> {
  await process.start()
  const result = await runJson<LoadResult>('bench/support/load.ts', { token, connections: 4, concurrency: 16, ...request })
  const measured = await process.report()
  const unexpected = Object.keys(result.statuses).filter((status) => !/^20\d$/.test(status))
  if (unexpected.length > 0) throw new Error(`${request.method} ${request.path} was answered with ${JSON.stringify(result.statuses)}`)
  return { ...result, measured, perSecond: result.requests / result.seconds, cpuMicros: (measured.cpuSeconds / result.requests) * 1e6 }
}

async function creates(bench: Bench, { process, url, send }: Server): Promise<void> {
  await send('POST', '/api/v1/namespaces', { metadata: { name: 'early' } })
  for (const namespace of ['default', 'early']) {
    await send('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'default' } })
  }
  const create = (namespace: string, count: number) => {
    const body = JSON.stringify(threeKilobytePod(namespace))
    return load(process, { url, method: 'POST', path: `/api/v1/namespaces/${namespace}/pods`, body, seconds: 60, count })
  }
  // As it is for a server that has run for a while: the compiler takes some ten thousand requests to settle.
  await create('early', warmUpCount)
  const result = await create('default', podCount)
  bench.report({ case: 'CREATE, durable, 64 in flight', unit: '/s', ...atLeast(4000, result.perSecond) })
  bench.report({ case: 'CREATE: processor time of the server', figure: result.cpuMicros, unit: 'us' })
}

async function answers({ send }: Server, directory: string): Promise<{ pod: string; list: string }> {
  const files = { pod: join(directory, 'pod.json'), list: join(directory, 'list.json') }
  writeFileSync(files.pod, await send('GET', `${pods}/pod-1`))
  writeFileSync(files.list, await send('GET', pods))
  return files
}

/** The bytes of a file, to everybody. */
async function startBare(body: string, directory: string): Promise<{ process: MeasuredProcess; url: string }> {
  const pem = join(directory, 'data', 'pki', 'apiserver.pem')
  const process = await startMeasured('bench/support/bare-server.ts', [JSON.stringify({ body, pem })], { readyText: 'listening' })
  return { process, url: `https://127.0.0.1:${/listening (\d+)/.exec(process.output())?.[1]}` }
}

async function gets(bench: Bench, { process, url }: Server, body: string, directory: string): Promise<void> {
  const bare = await startBare(body, directory)
  const request = { method: 'GET', path: `${pods}/pod-1`, seconds }
  await load(process, { ...request, url, seconds: 2 })
  const [baseline, result] = [await load(bare.process, { ...request, url: bare.url }), await load(process, { ...request, url })]
  await bare.process.stop()
  bench.report({
    case: 'GET of a pod',
    figure: result.perSecond,
    unit: '/s',
    comparedWith: `${bareName}: at least 0.4`,
    ratio: result.perSecond / baseline.perSecond,
  })
  const ratio = baseline.cpuMicros / result.cpuMicros
  bench.report({ case: 'GET: processor time of the server', figure: result.cpuMicros, unit: 'us', comparedWith: bareName, ratio })
}

async function lists(bench: Bench, { process, url }: Server, body: string, directory: string): Promise<void> {
  const bare = await startBare(body, directory)
  const request = { method: 'GET', path: pods, seconds, connections: 2, concurrency: 1 }
  // What was thrown away before is not what lists hold the event loop with.
  await process.collect()
  const [baseline, result] = [await load(bare.process, { ...request, url: bare.url }), await load(process, { ...request, url })]
  await bare.process.stop()
  const [ours, theirs] = [result, baseline].map(({ bytes, seconds: took }) => bytes / took / 1e6) as [number, number]
  bench.report({
    case: `LIST of ${podCount} pods`,
    figure: result.perSecond,
    unit: '/s',
    comparedWith: `${bareName}: at least 0.5`,
    ratio: result.perSecond / baseline.perSecond,
  })
  bench.report({ case: 'LIST: bytes', figure: ours, unit: 'MB/s', comparedWith: bareName, ratio: ours / theirs })
  const ratio = baseline.cpuMicros / result.cpuMicros
  bench.report({ case: 'LIST: processor time of the server', figure: result.cpuMicros / 1000, unit: 'ms', comparedWith: bareName, ratio })
  reportHold(bench, 'LIST', result.measured)
  for (const [form, accept] of Object.entries(otherForms)) {
    const other = await load(process, { ...request, url, accept, seconds: 2 })
    reportHold(bench, `LIST as ${form}`, other.measured)
  }
}

const otherForms = {
  protobuf: 'application/vnd.kubernetes.protobuf',
  'a table': 'application/json;as=Table;g=meta.k8s.io;v=v1',
}

/** Each patch adds one to a counter of its own writer: what is acknowledged must add up. */
async function hotUpdates(bench: Bench, { process, url, send }: Server): Promise<void> {
  const body = JSON.stringify({ metadata: { annotations: { 'writer-{n}': 'was here' } } })
  const path = `${pods}/pod-2`
  const contentType = 'application/merge-patch+json'
  const few = 200
  const added = await load(process, { url, method: 'PATCH', path, body, contentType, seconds: 30, count: few })
  const { metadata } = JSON.parse((await send('GET', path)).toString()) as { metadata: { annotations: Record<string, string> } }
  const there = Object.keys(metadata.annotations).length
  if (there !== added.requests) throw new Error(`${added.requests} updates were acknowledged, ${there} are there`)
  const same = JSON.stringify({ metadata: { annotations: { count: '{n}' } } })
  const result = await load(process, { url, method: 'PATCH', path: `${pods}/pod-3`, body: same, contentType, seconds })
  bench.report({ case: 'UPDATE of one object, durable, 64 in flight', unit: '/s', ...atLeast(2000, result.perSecond) })
}

async function watches(bench: Bench, { process, url }: Server): Promise<void> {
  const names = Array.from({ length: 50 }, (_, index) => `pod-${index}`)
  const request: WatchRequest = { url, token, path: pods, watchers: 1000, connections: 10, names, concurrency: 8, seconds }
  const watched = async (more: Partial<WatchRequest>) => {
    const result = await runJson<WatchResult>('bench/support/watchers.ts', { ...request, ...more })
    if (result.missed !== 0) throw new Error(`${result.missed} events were missed`)
    return result
  }
  const most = await watched({})
  bench.report({ case: 'WATCH: events delivered to 1,000 watchers', unit: '/s', ...atLeast(100_000, most.events / most.seconds) })
  await process.start()
  const paced = await watched({ changesPerSecond: 105 })
  const measured = await process.report()
  bench.report({ case: 'WATCH: at 105 changes a second, delivered', figure: paced.events / paced.seconds, unit: '/s' })
  bench.report({ case: 'WATCH: from the request to the watcher, half', figure: paced.p50Ms, unit: 'ms' })
  bench.report({ case: 'WATCH: from the request to the watcher, 99 %', unit: 'ms', ...atMost(100, paced.p99Ms) })
  reportHold(bench, 'WATCH', measured)
}

async function idleWatches(bench: Bench, dataDir: string): Promise<void> {
  await using server = await startServer(dataDir)
  const { residentMb: before } = await server.process.collect()
  bench.report({ case: 'empty server, process start to ready', unit: 'ms', ...atMost(400, server.process.readyAfterMs) })
  bench.report({ case: 'empty server, resident', unit: 'MB', ...atMost(120, before) })
  const request: WatchRequest = {
    url: server.url,
    token,
    path: pods,
    watchers: 10_000,
    connections: 20,
    names: [],
    concurrency: 0,
    seconds: 0,
    isIdle: true,
  }
  await using clients = await startMeasured('bench/support/watchers.ts', [JSON.stringify(request)], { readyText: 'open' })
  const { residentMb } = await server.process.collect()
  bench.report({ case: 'resident with 10,000 idle watches', unit: 'MB', ...atMost(300, residentMb) })
  await clients.stop()
}

async function manyStored(bench: Bench, dataDir: string, pod: string): Promise<void> {
  await (await startServer(dataDir)).process.stop()
  await runJson('bench/support/fill-store.ts', { directory: join(dataDir, 'store'), pod, count: storedCount, namespaces: 100 })
  await using server = await startServer(dataDir)
  const { residentMb } = await server.process.collect()
  bench.report({ case: `${storedCount} pods stored: process start to ready`, figure: server.process.readyAfterMs, unit: 'ms' })
  bench.report({ case: `${storedCount} pods stored: resident`, figure: residentMb, unit: 'MB' })
  const path = '/api/v1/namespaces/ns-7/pods'
  const result = await load(server.process, { url: server.url, method: 'GET', path, seconds: 3, concurrency: 1 })
  bench.report({ case: `${storedCount} pods stored: LIST of one namespace of ${storedCount / 100}`, figure: result.p50Ms, unit: 'ms' })
}
