/**
 * Many watchers in a process of their own: `node watchers.ts '{"url":…}'` opens them, changes objects, and prints one line of JSON.
 * With `idleSeconds` nothing is changed: it says `open` and stays until its standard input ends.
 */
import { type ClientHttp2Session, connect } from 'node:http2'

export type WatchRequest = {
  url: string
  token: string
  path: string
  watchers: number
  connections: number
  /** Pods of the path that are patched, by name. */
  names: string[]
  /** Patches in flight. */
  concurrency: number
  seconds: number
  /** No more than so many; as many as the server takes where absent. */
  changesPerSecond?: number
  isIdle?: boolean
}

export type WatchResult = { events: number; seconds: number; changes: number; p50Ms: number; p99Ms: number; missed: number }

const newline = 10
const mark = Buffer.from('"sent-at":"')

if (import.meta.main) await run(JSON.parse(process.argv[2] ?? '{}') as WatchRequest)

async function run(request: WatchRequest): Promise<void> {
  const { url, token, path, watchers, connections, isIdle = false } = request
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json' }
  const sessions = await Promise.all(Array.from({ length: connections }, () => opened(url)))
  const counts = new Float64Array(watchers)
  const latencies: number[] = []
  await Promise.all(
    Array.from({ length: watchers }, async (_, index) => {
      const session = sessions[index % connections] as ClientHttp2Session
      const stream = session.request({
        ':path': `${path}?watch=true&resourceVersion=0&sendInitialEvents=false&resourceVersionMatch=NotOlderThan`,
        ...headers,
      })
      await new Promise<void>((resolve, reject) => {
        stream.on('response', ({ ':status': status }) =>
          status === 200 ? resolve() : reject(new Error(`a watch was answered with ${status}`)),
        )
        stream.on('error', reject)
      })
      stream.on('data', (chunk: Buffer) => {
        for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, at + 1)) counts[index] = (counts[index] ?? 0) + 1
        const at = chunk.lastIndexOf(mark)
        if (at >= 0 && at + 30 < chunk.length)
          latencies.push(performance.now() - Number.parseFloat(chunk.toString('latin1', at + mark.length, at + 30)))
      })
    }),
  )
  if (isIdle) {
    console.log('open')
    process.stdin.resume()
    process.stdin.on('end', () => process.exit(0))
    return
  }
  const changes = await change(request, await opened(url))
  // The last events may still be on their way.
  for (let waited = 0; waited < 50 && counts.some((count) => count < changes.count); waited++)
    await new Promise((resolve) => setTimeout(resolve, 20))
  latencies.sort((left, right) => left - right)
  const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? 0
  const events = counts.reduce((sum, count) => sum + count, 0)
  const missed = counts.reduce((sum, count) => sum + changes.count - count, 0)
  const result: WatchResult = { events, seconds: changes.seconds, changes: changes.count, p50Ms: at(0.5), p99Ms: at(0.99), missed }
  console.log(JSON.stringify(result))
  process.exit(0)
}

async function opened(url: string): Promise<ClientHttp2Session> {
  const session = connect(url, { rejectUnauthorized: false, settings: { initialWindowSize: 4 << 20 } })
  await new Promise((resolve) => session.once('connect', resolve))
  session.setLocalWindowSize(64 << 20)
  return session
}

async function change(
  { token, path, names, concurrency, seconds, changesPerSecond = Number.POSITIVE_INFINITY }: WatchRequest,
  session: ClientHttp2Session,
) {
  const beginMs = performance.now()
  const endMs = beginMs + seconds * 1000
  let count = 0
  const worker = async () => {
    while (performance.now() < endMs) {
      const waitMs = beginMs + (count / changesPerSecond) * 1000 - performance.now()
      if (waitMs > 0) {
        await new Promise((resolve) => setTimeout(resolve, waitMs))
        continue
      }
      const name = names[count % names.length]
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/merge-patch+json', ':method': 'PATCH' }
      const body = JSON.stringify({ metadata: { annotations: { 'sent-at': performance.now().toFixed(6), number: String(count++) } } })
      await new Promise<void>((resolve, reject) => {
        const stream = session.request({ ...headers, ':path': `${path}/${name}` })
        stream.on('response', ({ ':status': status }) => status !== 200 && reject(new Error(`a patch was answered with ${status}`)))
        stream.on('error', reject)
        stream.on('close', resolve)
        stream.resume()
        stream.end(body)
      })
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  return { count, seconds: (performance.now() - beginMs) / 1000 }
}
