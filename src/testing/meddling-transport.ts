/** A road on which somebody else is always a moment faster: what is about to be written has just been changed. */
import type { Transport, TransportRequest } from '#client/transport.ts'

const attemptsLimit = 20

/** Of the writes to an object that exists the first meets a change of it, and every other after it, until somebody tires of that. */
export function meddlingTransport(transport: Transport, meddler: Transport, count: { conflicts: number }): Transport {
  const attempts = new Map<string, number>()
  let changes = 0
  return {
    async send(request) {
      const path = objectPath(request)
      if (path !== undefined) {
        const attempt = attempts.get(path) ?? 0
        attempts.set(path, attempt + 1)
        if (attempt % 2 === 0 && attempt < attemptsLimit) {
          const body = JSON.stringify({ metadata: { labels: { 'example.com/meddled': String(++changes) } } })
          const headers = { accept: 'application/json', 'content-type': 'application/merge-patch+json', 'user-agent': 'meddler' }
          await (await meddler.send({ method: 'PATCH', target: path, headers, body })).text()
        }
      }
      const response = await transport.send(request)
      if (response.status === 409) count.conflicts++
      return response
    },
  }
}

/** Where the object of an update, a patch or a deletion is; events are nobody's business. */
function objectPath({ method, target }: TransportRequest): string | undefined {
  if (method === 'GET' || method === 'POST') return undefined
  const [path = ''] = target.split('?')
  if (/\/(events|leases)\//.test(path)) return undefined
  return path.replace(/\/(status|finalize|scale)$/, '')
}
