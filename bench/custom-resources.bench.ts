/** What custom resources cost: beside built-in ones of the same size, and five hundred definitions at once. */
import { mkdtempSync, rmSync } from 'node:fs'
import { type ClientHttp2Session, connect } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bench, BenchRow } from '../scripts/bench.ts'
import { freePort } from '../test/support/free-port.ts'
import { type MeasuredProcess, startMeasured } from './support/measured-process.ts'

const token = 'bench'
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
/** In each of the rounds. */
const createCount = Number(process.env['BENCH_CREATES'] ?? 1_500)
const rounds = 7
const definitionCount = Number(process.env['BENCH_DEFINITIONS'] ?? 500)
const writers = 32

export default async function run(bench: Bench): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'tn-bench-'))
  try {
    await creates(bench, join(directory, 'creates'))
    await manyDefinitions(bench, join(directory, 'many'))
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

function atMost(target: number, figure: number): Pick<BenchRow, 'figure' | 'comparedWith' | 'ratio'> {
  return { figure, comparedWith: `at most ${target.toLocaleString('en')}`, ratio: figure / target }
}

type Server = AsyncDisposable & { process: MeasuredProcess; send: Send }
type Answer = { status: number; body: string }
type Send = (method: string, path: string, body?: object) => Promise<Answer>

/** The API server alone: no controllers, scheduler or nodes. */
async function startServer(dataDir: string): Promise<Server> {
  const port = await freePort()
  const flags = ['--token', token, '--runtime', 'none', '--controllers=', '--scheduler=false']
  const process = await startMeasured('bin/typernetes.js', ['up', '--api-port', String(port), '--data-dir', dataDir, ...flags], {
    readyText: 'The cluster is ready',
  })
  const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false })
  // A server that is stopped at once may be gone before anybody has connected.
  session.on('error', () => {})
  return {
    process,
    send: (method, path, body) => send(session, method, path, body),
    async [Symbol.asyncDispose]() {
      session.destroy()
      await process.stop()
    },
  }
}

function send(session: ClientHttp2Session, method: string, path: string, body?: object): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const stream = session.request({ ':method': method, ':path': path, ...headers })
    let status = 0
    let text = ''
    stream.setEncoding('utf8')
    stream.on('response', (answered) => {
      status = Number(answered[':status'])
    })
    stream.on('data', (chunk: string) => {
      text += chunk
    })
    stream.on('error', reject)
    stream.on('close', () => resolve({ status, body: text }))
    stream.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

const fieldNames = Array.from({ length: 200 }, (_, index) => `field${index}`)

function definition(name: string, group: string) {
  const properties = Object.fromEntries(
    fieldNames.map((field, index) => [field, index % 2 ? { type: 'integer', minimum: 0 } : { type: 'string', maxLength: 64 }]),
  )
  const rules = Array.from({ length: 10 }, (_, index) => ({
    rule: `self.field${index * 2} != 'no' && self.field${index * 2 + 1} >= 0`,
    message: `field${index * 2} must not be no`,
  }))
  const spec = { type: 'object', properties, 'x-kubernetes-validations': rules }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${name}s.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: `${name}s`, kind: `${name[0]?.toUpperCase()}${name.slice(1)}` },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object', properties: { spec } } } }],
    },
  }
}

async function creates(bench: Bench, dataDir: string): Promise<void> {
  await using server = await startServer(dataDir)
  const started = performance.now()
  await server.send('POST', definitions, definition('widget', 'example.com'))
  const widgets = '/apis/example.com/v1/namespaces/default/widgets'
  while ((await server.send('GET', widgets)).status !== 200);
  await server.send('GET', '/openapi/v3/apis/example.com/v1')
  bench.report({ case: 'a definition: until it can be used and explained', unit: 'ms', ...atMost(1000, performance.now() - started) })
  const spec = Object.fromEntries(fieldNames.map((field, index) => [field, index % 2 ? index : `value ${index}`]))
  const data = Object.fromEntries(Object.entries(spec).map(([field, value]) => [field, String(value)]))
  const configMaps = '/api/v1/namespaces/default/configmaps'
  const builtIn = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data })
  const custom = (name: string) => ({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name }, spec })
  await perSecond(server.send, configMaps, builtIn, 'warm')
  await perSecond(server.send, widgets, custom, 'warm')
  // In turns, and the round in the middle counts: what else the machine does meanwhile hits both.
  const found: { ofBuiltIn: number; ofCustom: number }[] = []
  for (let round = 0; round < rounds; round++) {
    const ofBuiltIn = await perSecond(server.send, configMaps, builtIn, `round-${round}`)
    found.push({ ofBuiltIn, ofCustom: await perSecond(server.send, widgets, custom, `round-${round}`) })
  }
  found.sort((one, other) => one.ofCustom / one.ofBuiltIn - other.ofCustom / other.ofBuiltIn)
  const { ofBuiltIn = 0, ofCustom = 0 } = found[Math.floor(rounds / 2)] ?? {}
  bench.report({ case: 'creates of a ConfigMap with 200 entries', figure: ofBuiltIn, unit: '1/s' })
  const comparedWith = 'at least half of the ConfigMap'
  bench.report({
    case: 'creates of a custom object: 200 fields, 10 rules',
    figure: ofCustom,
    unit: '1/s',
    comparedWith,
    ratio: ofCustom / ofBuiltIn,
  })
}

async function perSecond(send: Send, path: string, object: (name: string) => object, prefix: string): Promise<number> {
  let next = 0
  const started = performance.now()
  const write = async () => {
    while (next < createCount) {
      const { status, body } = await send('POST', path, object(`${prefix}-${next++}`))
      if (status !== 201) throw new Error(`a create answered ${status}: ${body.slice(0, 500)}`)
    }
  }
  await Promise.all(Array.from({ length: writers }, write))
  return createCount / ((performance.now() - started) / 1000)
}

const idleMs = 65_000

/** Once nobody asks for anything: a server that has worked gives back what it worked with, within three looks of 20 seconds. */
async function idleResidentMb(server: MeasuredProcess): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, idleMs))
  return (await server.report()).residentMb
}

async function manyDefinitions(bench: Bench, dataDir: string): Promise<void> {
  let readyWithout = 0
  {
    await using server = await startServer(dataDir)
    await server.process.stop()
  }
  {
    await using server = await startServer(dataDir)
    readyWithout = server.process.readyAfterMs
    const before = await idleResidentMb(server.process)
    const waits: number[] = []
    let isOver = false
    const reading = (async () => {
      while (!isOver) {
        const asked = performance.now()
        await server.send('GET', '/api/v1/namespaces/default')
        waits.push(performance.now() - asked)
      }
    })()
    await server.process.start()
    const names = Array.from({ length: definitionCount }, (_, index) => `kind${index}`)
    const started = performance.now()
    await Promise.all(names.map((name) => server.send('POST', definitions, definition(name, `group${name.length}.example.com`))))
    for (const name of names) {
      const path = `/apis/group${name.length}.example.com/v1/namespaces/default/${name}s`
      while ((await server.send('GET', path)).status !== 200);
    }
    const tookMs = performance.now() - started
    const { longestHoldMs } = await server.process.report()
    isOver = true
    await reading
    waits.sort((one, other) => one - other)
    const p99 = waits[Math.floor(waits.length * 0.99)] ?? 0
    const of = `${definitionCount} definitions at once`
    bench.report({ case: `${of}: until all can be used`, figure: tookMs, unit: 'ms' })
    bench.report({ case: `${of}: p99 of other requests`, unit: 'ms', ...atMost(50, p99) })
    bench.report({ case: `${of}: longest hold of the event loop`, unit: 'ms', ...atMost(50, longestHoldMs) })
    const after = await idleResidentMb(server.process)
    bench.report({ case: `${of}: memory of each`, unit: 'KB', ...atMost(200, ((after - before) * 1024) / definitionCount) })
  }
  await using server = await startServer(dataDir)
  bench.report({
    case: `a start with ${definitionCount} definitions: how much longer`,
    unit: 'ms',
    ...atMost(1000, server.process.readyAfterMs - readyWithout),
  })
}
