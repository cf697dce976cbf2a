/** A load generator in a process of its own: `node load.ts '{"url":…}'` prints one line of JSON. */
import { connect } from 'node:http2'

export type LoadRequest = {
  url: string
  token: string
  method: string
  /** `{n}` is replaced by a running number. */
  path: string
  body?: string
  contentType?: string
  accept?: string
  connections: number
  /** In flight on each connection. */
  concurrency: number
  seconds: number
  /** Stop after this many requests, if sooner. */
  count?: number
}

export type LoadResult = {
  requests: number
  seconds: number
  bytes: number
  errors: number
  p50Ms: number
  p99Ms: number
  statuses: Record<string, number>
}

if (import.meta.main) console.log(JSON.stringify(await load(JSON.parse(process.argv[2] ?? '{}') as LoadRequest)))

async function load(request: LoadRequest): Promise<LoadResult> {
  const {
    url,
    token,
    method,
    path,
    body,
    contentType = 'application/json',
    accept = 'application/json',
    connections,
    concurrency,
    seconds,
    count = Number.POSITIVE_INFINITY,
  } = request
  const latencies: number[] = []
  const statuses: Record<string, number> = {}
  let started = 0
  let bytes = 0
  let errors = 0
  const sessions = await Promise.all(
    Array.from({ length: connections }, async () => {
      const session = connect(url, { rejectUnauthorized: false, settings: { initialWindowSize: 4 << 20 } })
      await new Promise((resolve) => session.once('connect', resolve))
      session.setLocalWindowSize(32 << 20)
      return session
    }),
  )
  const beginMs = performance.now()
  const endMs = beginMs + seconds * 1000
  const worker = async (session: ReturnType<typeof connect>) => {
    while (performance.now() < endMs && started < count) {
      const number = started++
      const sentMs = performance.now()
      await new Promise<void>((resolve) => {
        const stream = session.request({
          ':method': method,
          ':path': path.replace('{n}', String(number)),
          authorization: `Bearer ${token}`,
          accept,
          ...(body === undefined ? {} : { 'content-type': contentType }),
        })
        stream.on('response', (headers) => {
          const status = String(headers[':status'])
          statuses[status] = (statuses[status] ?? 0) + 1
        })
        stream.on('data', (chunk: Buffer) => {
          bytes += chunk.length
        })
        stream.on('error', () => errors++)
        stream.on('close', resolve)
        stream.end(body?.replaceAll('{n}', String(number)))
      })
      latencies.push(performance.now() - sentMs)
    }
  }
  await Promise.all(sessions.flatMap((session) => Array.from({ length: concurrency }, () => worker(session))))
  const elapsed = (performance.now() - beginMs) / 1000
  for (const session of sessions) session.destroy()
  latencies.sort((left, right) => left - right)
  const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? 0
  return { requests: latencies.length, seconds: elapsed, bytes, errors, p50Ms: at(0.5), p99Ms: at(0.99), statuses }
}
