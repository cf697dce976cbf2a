/** A client that reads one object again and again, in a thread of its own so that it is not held up by what the attacker does. */
import { connect } from 'node:http2'
import { parentPort, workerData } from 'node:worker_threads'

const { url, token, path, everyMs } = workerData as { url: string; token: string; path: string; everyMs: number }
/** A read that takes longer is told of while it is still under way. */
let samples: number[] = []
let failures = 0
const underWay = new Set<number>()

function open() {
  const session = connect(url, { rejectUnauthorized: false })
  session.on('error', () => {})
  return session
}
let session = open()

function read(): void {
  if (session.closed || session.destroyed) session = open()
  const startedMs = performance.now()
  underWay.add(startedMs)
  const stream = session.request({ ':path': path, authorization: `Bearer ${token}` })
  let isOver = false
  const end = (isAnswered: boolean) => {
    if (isOver) return
    isOver = true
    underWay.delete(startedMs)
    if (isAnswered) samples.push(performance.now() - startedMs)
    else failures++
  }
  let status = 0
  stream.on('response', (headers) => {
    status = Number(headers[':status'])
  })
  stream.on('data', () => {})
  stream.on('end', () => end(status === 200))
  stream.on('error', () => end(false))
  stream.on('close', () => end(false))
}

let reading = setInterval(read, everyMs)
parentPort?.on('message', (what: 'tell' | 'pause' | 'resume') => {
  if (what !== 'tell') {
    clearInterval(reading)
    if (what === 'resume') reading = setInterval(read, everyMs)
    return
  }
  const nowMs = performance.now()
  const late = [...underWay].map((startedMs) => nowMs - startedMs).filter((ms) => ms > everyMs)
  parentPort?.postMessage({ samples: [...samples, ...late], failures })
  samples = []
  failures = 0
})
