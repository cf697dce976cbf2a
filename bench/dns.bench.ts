/** Answers from memory beside a bare socket in the same run, by the processor time of the server: a second of it is a core for a second. */
import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { recordTypes } from '#wire/dns/record-type.ts'
import { writeMessage } from '#wire/dns/write-message.ts'
import type { Bench } from '../scripts/bench.ts'
import { serviceCount } from './support/name-server.ts'

const questions = 150_000
const warmUp = 30_000
const outstanding = 64
const wanted = 40_000
const pacePerSecond = 5000
const pacedSeconds = 5
const wantedP99Ms = 2

type Measured = { perCore: number; p99Ms: number; pacedP99Ms: number }

export default async function run(bench: Bench): Promise<void> {
  const bare = await measured('bare')
  const own = await measured('cluster')
  bench.report({ case: 'a bare socket', figure: bare.perCore, unit: 'answers/s on one core' })
  bench.report({
    ...{
      case: `names of a cluster with ${serviceCount.toLocaleString('en')} services`,
      figure: own.perCore,
      unit: 'answers/s on one core',
    },
    ...{ comparedWith: `${wanted.toLocaleString('en')} answers/s`, ratio: own.perCore / wanted },
  })
  bench.report({ case: 'names of a cluster', figure: own.perCore / bare.perCore, unit: 'of a bare socket' })
  bench.report({ case: `p99 with ${outstanding} questions waiting at any time`, figure: own.p99Ms, unit: 'ms' })
  bench.report({
    ...{ case: `p99 at ${pacePerSecond.toLocaleString('en')} questions a second`, figure: own.pacedP99Ms, unit: 'ms' },
    ...{ comparedWith: `${wantedP99Ms} ms`, ratio: own.pacedP99Ms / wantedP99Ms },
  })
  const other = await measuredDnsmasq()
  if (other === undefined) return console.error('dnsmasq is not installed (Debian: dnsmasq-base): nothing to compare with')
  const unit = 'answers/s on one core'
  bench.report({
    ...{ case: 'dnsmasq, the same names from a file of hosts', figure: other.perCore, unit },
    ...{ comparedWith: 'names of a cluster', ratio: own.perCore / other.perCore },
  })
  bench.report({ case: `dnsmasq: p99 at ${pacePerSecond.toLocaleString('en')} questions a second`, figure: other.pacedP99Ms, unit: 'ms' })
}

async function measured(mode: string): Promise<Measured> {
  const child = fork(join(import.meta.dirname, 'support/name-server.ts'), [mode], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  try {
    const [{ port }] = (await once(child, 'message')) as [{ port: number }]
    return await measuredAt(port, () => cpuSeconds(child))
  } finally {
    child.kill()
  }
}

async function measuredAt(port: number, spentSeconds: () => Promise<number>): Promise<Measured> {
  await load(port, warmUp)
  const before = await spentSeconds()
  const timesMs = await load(port, questions)
  const spent = (await spentSeconds()) - before
  return { perCore: questions / spent, p99Ms: p99(timesMs), pacedP99Ms: p99(await pacedLoad(port)) }
}

const p99 = (values: number[]): number => values.toSorted((one, other) => one - other)[Math.floor(values.length * 0.99)] ?? 0

/** Undefined where it is not installed. */
async function measuredDnsmasq(): Promise<Measured | undefined> {
  if (spawnSync('dnsmasq', ['--version']).status !== 0) return undefined
  const directory = mkdtempSync(join(tmpdir(), 'tn-bench-'))
  const port = 20_000 + (process.pid % 10_000)
  const hosts = join(directory, 'hosts')
  writeFileSync(
    hosts,
    Array.from({ length: serviceCount }, (_, index) => `10.96.${index >> 8}.${index & 255} web-${index}.shop.svc.cluster.local\n`).join(''),
  )
  const args = [
    '-k',
    '-C',
    '/dev/null',
    '-p',
    String(port),
    '-R',
    '-h',
    '-H',
    hosts,
    '-a',
    '127.0.0.1',
    '-z',
    '-u',
    'root',
    '-x',
    join(directory, 'pid'),
  ]
  const child = spawn('dnsmasq', args, { stdio: 'ignore' })
  const ticks = () => {
    const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) / 100
  }
  try {
    // It answers a moment after it was started.
    while (!(await answers(port)));
    return await measuredAt(port, async () => ticks())
  } finally {
    child.kill()
    rmSync(directory, { recursive: true })
  }
}

function answers(port: number): Promise<boolean> {
  const socket = createSocket('udp4')
  return new Promise<boolean>((resolve) => {
    const end = (isThere: boolean) => {
      clearTimeout(timer)
      socket.close()
      resolve(isThere)
    }
    const timer = setTimeout(() => end(false), 200)
    socket.once('message', () => end(true))
    socket.once('error', () => {})
    socket.send(question('web-0.shop.svc.cluster.local.'), port, '127.0.0.1')
  })
}

/** As many questions a second as are wanted, whether the ones before are answered or not; those that never are count as a second. */
function pacedLoad(port: number): Promise<number[]> {
  const packets = Array.from({ length: serviceCount }, (_, index) => question(`web-${index}.shop.svc.cluster.local.`))
  const socket = createSocket({ type: 'udp4', recvBufferSize: 1 << 20 })
  const sentMs = new Float64Array(65_536)
  const timesMs: number[] = []
  const count = pacePerSecond * pacedSeconds
  return new Promise((resolve) => {
    socket.on('message', (message) => timesMs.push(performance.now() - (sentMs[message.readUInt16BE(0)] as number)))
    socket.connect(port, '127.0.0.1', () => {
      const startMs = performance.now()
      let sent = 0
      const send = () => {
        const due = Math.min(count, Math.floor(((performance.now() - startMs) / 1000) * pacePerSecond))
        for (; sent < due; sent++) {
          const packet = Buffer.from(packets[sent % packets.length] as Buffer)
          packet.writeUInt16BE(sent & 0xffff, 0)
          sentMs[sent & 0xffff] = performance.now()
          socket.send(packet)
        }
        if (sent < count) return void setTimeout(send, 1)
        setTimeout(() => {
          socket.close()
          resolve([...timesMs, ...Array.from({ length: count - timesMs.length }, () => 1000)])
        }, 1000)
      }
      send()
    })
  })
}

async function cpuSeconds(child: ChildProcess): Promise<number> {
  child.send('cpu')
  const [{ cpu }] = (await once(child, 'message')) as [{ cpu: NodeJS.CpuUsage }]
  return (cpu.user + cpu.system) / 1e6
}

/** Keeps as many questions under way as it may, and counts what is answered. */
function load(port: number, count: number): Promise<number[]> {
  const packets = Array.from({ length: serviceCount }, (_, index) => question(`web-${index}.shop.svc.cluster.local.`))
  const socket = createSocket({ type: 'udp4', recvBufferSize: 1 << 20 })
  const sentMs = new Float64Array(65_536)
  const timesMs: number[] = []
  return new Promise((resolve) => {
    let sent = 0
    const next = () => {
      const packet = packets[sent % packets.length] as Buffer
      packet.writeUInt16BE(sent & 0xffff, 0)
      sentMs[sent & 0xffff] = performance.now()
      sent++
      socket.send(Buffer.from(packet))
    }
    socket.on('message', (message) => {
      timesMs.push(performance.now() - (sentMs[message.readUInt16BE(0)] as number))
      if (timesMs.length === count) {
        socket.close()
        resolve(timesMs)
      } else if (sent < count) next()
    })
    socket.connect(port, '127.0.0.1', () => {
      for (let index = 0; index < outstanding; index++) next()
    })
  })
}

function question(name: string): Buffer {
  return writeMessage({
    ...{ id: 0, opcode: 0, isResponse: false, isAuthoritative: false, isTruncated: false, isRecursionDesired: true, rcode: 0 },
    ...{ isRecursionAvailable: false, isAuthenticated: false, isCheckingDisabled: false, answers: [], authority: [], additional: [] },
    questions: [{ name, type: recordTypes.A, class: 1 }],
    edns: { version: 0, payloadBytes: 1232, isDnssecOk: false },
  })
}
