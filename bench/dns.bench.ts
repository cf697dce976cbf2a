/** Answers from memory beside a bare socket in the same run, by the processor time of the server: a second of it is a core for a second. */
import { type ChildProcess, fork } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { join } from 'node:path'
import { recordTypes } from '#wire/dns/record-type.ts'
import { writeMessage } from '#wire/dns/write-message.ts'
import type { Bench } from '../scripts/bench.ts'
import { serviceCount } from './support/name-server.ts'

const questions = 150_000
const warmUp = 30_000
const outstanding = 64
const wanted = 40_000

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
}

async function measured(mode: string): Promise<{ perCore: number; p99Ms: number }> {
  const child = fork(join(import.meta.dirname, 'support/name-server.ts'), [mode], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  try {
    const [{ port }] = (await once(child, 'message')) as [{ port: number }]
    await load(port, warmUp)
    const before = await cpuSeconds(child)
    const timesMs = await load(port, questions)
    const spent = (await cpuSeconds(child)) - before
    timesMs.sort((one, other) => one - other)
    return { perCore: questions / spent, p99Ms: timesMs[Math.floor(timesMs.length * 0.99)] ?? 0 }
  } finally {
    child.kill()
  }
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
